import Foundation

/// The tokens in an answer that is not valid JSON, as far as they can be read.
///
/// A refresh has spent its token when the answer comes, so an answer that broke off, has a warning
/// of the server's program in front of it, or a value somewhere that no reader accepts, must not
/// cost the tokens in it.
struct TornAnswer {
  /// The members with texts and numbers as their values, as they are written there.
  private(set) var members: [String: String] = [:]
  private var rest: ArraySlice<UInt8>

  /// Reads the members of the first object; `nil` without a token in them.
  init?(_ body: Data) {
    rest = [UInt8](body)[...]
    guard skipToObject() else { return nil }
    readMembers()
    guard members["access_token"] != nil || members["refresh_token"] != nil else { return nil }
  }

  /// Skips everything in front of a brace that a name follows.
  private mutating func skipToObject() -> Bool {
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "{") else { continue }
      skipBlanks()
      if rest.first == UInt8(ascii: "\"") { return true }
    }
    return false
  }

  /// Reads members until the object or the text ends; those of objects within it are passed over.
  private mutating func readMembers() {
    var depth = 1
    while depth > 0, let byte = rest.first {
      switch byte {
      case UInt8(ascii: "\""):
        guard let name = literal() else { return }
        skipBlanks()
        guard depth == 1, rest.first == UInt8(ascii: ":") else { continue }
        rest.removeFirst()
        skipBlanks()
        guard let value = value(), let name = Self.text(name) else { continue }
        if members[name] == nil { members[name] = value }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        rest.removeFirst()
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        rest.removeFirst()
      default: rest.removeFirst()
      }
    }
  }

  /// Reads a text or a number that is there whole; `nil` for anything else.
  private mutating func value() -> String? {
    if rest.first == UInt8(ascii: "\"") { return literal().flatMap(Self.text) }
    let number = rest.prefix { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    guard !number.isEmpty, number.endIndex < rest.endIndex else { return nil }
    rest = rest[number.endIndex...]
    return String(decoding: number, as: UTF8.self)
  }

  /// Reads a literal with its quotation marks; `nil` if its end is missing.
  private mutating func literal() -> ArraySlice<UInt8>? {
    var position = rest.startIndex + 1
    while position < rest.endIndex {
      switch rest[position] {
      case UInt8(ascii: "\""):
        defer { rest = rest[(position + 1)...] }
        return rest[...position]
      case UInt8(ascii: "\\"): position += 2
      default: position += 1
      }
    }
    rest = []
    return nil
  }

  private static func text(_ literal: ArraySlice<UInt8>) -> String? {
    // A text that cannot be read is not there.
    try? JSONDecoder().decode(String.self, from: Data(literal))
  }

  private mutating func skipBlanks() {
    rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
  }
}
