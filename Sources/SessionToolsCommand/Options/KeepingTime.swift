import ArgumentParser

/// How long the agent keeps a key: `90s`, `15m` or `8h`.
struct KeepingTime: CustomStringConvertible {
  static let standard = KeepingTime(seconds: 15 * 60)
  static let longest = Duration.seconds(24 * 3600)

  private static let units: [(letter: Character, name: String, seconds: UInt32)] = [
    ("h", "hour", 3600), ("m", "minute", 60), ("s", "second", 1),
  ]

  let seconds: UInt32

  private init(seconds: UInt32) {
    self.seconds = seconds
  }

  /// Reads a number with a unit.
  ///
  /// - Throws: `ValidationError` for anything else, and for less than a second or more than a day.
  init(_ argument: String) throws {
    guard let unit = Self.units.first(where: { argument.last == $0.letter }),
      argument.utf8.dropLast().allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
      let count = UInt32(argument.dropLast()), 1...86_400 ~= count,
      Duration.seconds(Int64(count) * Int64(unit.seconds)) <= Self.longest
    else { throw ValidationError("Write a time from 1s to 24h, such as 90s, 15m or 8h.") }
    seconds = count * unit.seconds
  }

  /// The time in words, by the largest unit that gives a whole number: "15 minutes".
  var description: String {
    for unit in Self.units where seconds.isMultiple(of: unit.seconds) {
      let count = seconds / unit.seconds
      return "\(count) \(unit.name)\(count == 1 ? "" : "s")"
    }
    return "\(seconds) seconds"
  }
}
