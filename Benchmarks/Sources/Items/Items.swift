public import SessionToolsBase

/// The items that every measurement stores: those of `Limit/main.c`, byte for byte.
public enum Items {
  /// The length of each value.
  public static let valueByteCount = 512
  private static let namespace: Namespace = "com.example.benchmark"

  /// The key of an item.
  public static func key(_ number: Int) throws -> StoreKey {
    let digits = String(number)
    let zeros = String(repeating: "0", count: max(0, 7 - digits.count))
    return try StoreKey("item-\(zeros)\(digits)", in: namespace)
  }

  /// The value of an item: its number in eight bytes, then a pattern.
  public static func value(_ number: Int) -> SecretBytes {
    SecretBytes(capacity: valueByteCount) { output in
      output.append(UInt64(number).littleEndian, as: UInt64.self)
      for offset in 8..<valueByteCount {
        output.append(UInt8(truncatingIfNeeded: number + offset * 7), as: UInt8.self)
      }
    }
  }

  /// The changes that put items.
  public static func puts(_ numbers: Range<Int>) throws -> [StoreChange] {
    try numbers.map { .put(value($0), for: try key($0)) }
  }

  /// The keys of items.
  public static func keys(_ numbers: Range<Int>) throws -> [StoreKey] {
    try numbers.map { try key($0) }
  }
}

/// Numbers that look random and are the same every time: those of `Limit/main.c`.
public struct Xorshift {
  private var state: UInt64 = 88_172_645_463_325_252

  /// Begins the one series there is.
  public init() {}

  /// The next number, from 0 to below a bound.
  public mutating func next(below bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(bound))
  }
}
