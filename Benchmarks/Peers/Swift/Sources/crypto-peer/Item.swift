import FoundationEssentials

/// An item that every peer stores: those of `C/peer.c`, byte for byte.
struct Item {
  /// The length of each value.
  static let valueByteCount = 512

  let identifier: String
  let value: Data

  init(_ number: Int) {
    let digits = String(number)
    identifier = "item-" + String(repeating: "0", count: max(0, 7 - digits.count)) + digits
    // The number in eight bytes, then a pattern.
    value = Data(
      (0..<Self.valueByteCount).map { offset in
        UInt8(truncatingIfNeeded: offset < 8 ? number >> (8 * offset) : number + offset * 7)
      })
  }

  /// Returns the items with the given numbers.
  static func all(_ numbers: Range<Int>) -> [Item] {
    numbers.map { Item($0) }
  }
}

/// A pseudorandom series that is the same every time: that of `C/peer.c`.
struct Xorshift {
  private var state: UInt64 = 88_172_645_463_325_252

  /// Returns the next number, at least 0 and below a bound.
  mutating func next(below bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(bound))
  }
}
