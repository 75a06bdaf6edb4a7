public import SealedStore
public import SecretStores

/// The address of a database together with its password, as charts and hosts give it.
///
/// ```swift
/// let url = try DatabaseURL(takingFromEnvironment: "DATABASE_URL")
/// let store = try SealedDatabaseStore.open(url: url, key: key)
/// ```
///
/// The password is not in the address that errors and logs show.
public struct DatabaseURL: Sendable {
  /// The address without its password.
  package let address: String
  /// The password; `nil` for an address without one.
  package let password: SecretBytes?

  /// Takes `postgresql://USER:PASSWORD@HOST/DATABASE` out of a variable of the environment, which
  /// is then removed.
  ///
  /// `/proc/PID/environ` shows zeros afterward, and no child inherits it; what has read the
  /// environment before, such as a provider of a configuration, may have a copy. Call this first in
  /// `main`: the C library cannot change the environment while another thread reads it.
  ///
  /// - Parameter name: The variable's name.
  /// - Throws: `keyMissing` when it is not set, `invalidKey` when it is no such address; it is
  ///   removed all the same.
  public init(takingFromEnvironment name: String) throws(StoreError) {
    let text = try SecretBytes.taken(
      fromEnvironment: name,
      remedy: "Set it to the database's address: postgresql://user:password@host/database")
    try self.init(text, of: "environment variable \(name)")
  }

  /// Splits an address as libpq does: the user and the password end at the first `@` that no `/` is
  /// before.
  package init(_ text: SecretBytes, of source: String) throws(StoreError) {
    let buffer = ByteBuffer(byteCount: text.byteCount, isSecret: true)
    buffer.copy(text, to: 0)
    func first(_ characters: String, from start: Int, to end: Int) -> Int? {
      (start..<end).first { characters.utf8.contains(buffer.load(UInt8.self, at: $0)) }
    }
    let byteCount = text.byteCount
    let refusal = StoreError(
      .invalidKey, store: source,
      reason: "this is not the address of a database, perhaps because of a character in the "
        + "password",
      remedy: "Write postgresql://user:password@host/database, in the password with %40 for @, "
        + "%2F for /, %3F for ? and %25 for %")
    guard let scheme = first(":", from: 0, to: byteCount), scheme + 3 <= byteCount else {
      throw refusal
    }
    let start = scheme + 3
    let query = first("?", from: start, to: byteCount) ?? byteCount
    let end = first("@/", from: start, to: query) ?? query
    // An @ behind the user and the password, or behind a /, was meant to be in the password.
    if first("@", from: min(end + 1, query), to: byteCount) != nil { throw refusal }
    let hasUser = end < query && buffer.load(UInt8.self, at: end) == UInt8(ascii: "@")
    guard hasUser, let colon = first(":", from: start, to: end) else {
      guard let address = buffer.text(0..<byteCount) else { throw refusal }
      (self.address, password) = (address, nil)
      return
    }
    guard let user = buffer.text(0..<colon), let rest = buffer.text(end..<byteCount),
      let password = Self.percentDecoded(buffer, colon + 1..<end)
    else { throw refusal }
    address = user + rest
    self.password = password.isEmpty ? nil : password
  }

  /// Returns a part without its percent signs; `nil` if one of them stands for no byte.
  private static func percentDecoded(_ buffer: ByteBuffer, _ range: Range<Int>) -> SecretBytes? {
    let decoded = ByteBuffer(byteCount: range.count, isSecret: true)
    var (from, to) = (range.lowerBound, 0)
    while from < range.upperBound {
      var byte = buffer.load(UInt8.self, at: from)
      if byte == UInt8(ascii: "%") {
        guard from + 2 < range.upperBound,
          let high = Character(UnicodeScalar(buffer.load(UInt8.self, at: from + 1))).hexDigitValue,
          let low = Character(UnicodeScalar(buffer.load(UInt8.self, at: from + 2))).hexDigitValue
        else { return nil }
        byte = UInt8(high << 4 | low)
        from += 2
      }
      decoded.store(byte, at: to)
      (from, to) = (from + 1, to + 1)
    }
    return decoded.secret(0..<to)
  }
}

extension SealedDatabaseStore {
  /// Opens an existing store with an address that has a password.
  ///
  /// As ``open(_:key:options:)``; a password of the options takes the place of the
  /// address's.
  ///
  /// - Throws: As ``open(_:key:options:)``.
  public static func open(
    url: DatabaseURL, key: some KeySource, options: Options = Options()
  ) throws(StoreError) -> SealedDatabaseStore {
    var options = options
    if options.password == nil, let password = url.password {
      options.password = { () throws(StoreError) in password }
    }
    return try open(url.address, key: key, options: options)
  }
}
