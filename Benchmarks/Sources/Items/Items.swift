public import SessionToolsBase

/// The items that every measurement stores: the same as in `Limit/main.c`, byte for byte.
public enum Items {
  /// The length of each value.
  public static let valueByteCount = 512
  private static let namespace: StoreNamespace = "com.example.benchmark"

  /// Returns the name of an item.
  public static func name(_ number: Int) throws -> ItemName {
    let digits = String(number)
    let zeros = String(repeating: "0", count: max(0, 7 - digits.count))
    return try ItemName("item-\(zeros)\(digits)", in: namespace)
  }

  /// Returns the value of an item: its number in eight bytes, then a pattern.
  public static func value(_ number: Int) -> SecretBytes {
    SecretBytes(capacity: valueByteCount) { output in
      output.append(UInt64(number).littleEndian, as: UInt64.self)
      for offset in 8..<valueByteCount {
        output.append(UInt8(truncatingIfNeeded: number + offset * 7), as: UInt8.self)
      }
    }
  }

  /// Returns the changes that put items.
  public static func puts(_ numbers: Range<Int>) throws -> [StoreChange] {
    try numbers.map { .put(value($0), for: try name($0)) }
  }

  /// Returns the names of items.
  public static func names(_ numbers: Range<Int>) throws -> [ItemName] {
    try numbers.map { try name($0) }
  }
}

/// A pseudorandom series that is the same every time: that of `Limit/main.c` and
/// `DatabaseLimit/database.c`.
public struct Xorshift {
  private var state: UInt64 = 88_172_645_463_325_252

  /// Begins a series; each seed has another one.
  public init(seed: Int = 0) {
    state ^= UInt64(seed) << 32
  }

  /// Returns the next number, at least 0 and below a bound.
  public mutating func next(below bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(bound))
  }
}

/// An item as an app's session stores it, 512 bytes as JSON.
public struct Profile: Codable, Sendable {
  /// The user's name.
  public let name: String
  /// The user's mail address.
  public let address: String
  /// The time of creation, in seconds since 1970.
  public let made: Int
  /// The access token from the service.
  public let accessToken: String
  /// The token that renews the access token.
  public let refreshToken: String
  /// The scopes that the tokens grant.
  public let scopes: [String]

  /// The profile that is measured.
  public static let example = Profile(
    name: "Ada Lovelace", address: "ada@example.com", made: 1_700_000_000,
    accessToken: String(repeating: "a1B2", count: 48),
    refreshToken: String(repeating: "c3", count: 85),
    scopes: ["mail.read", "mail.send", "calendar"])
}
