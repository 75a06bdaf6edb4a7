public import SecretStores
/// The identity of one of several users of a program: something that never changes about a user,
/// such as the subject of an OpenID Connect token, rather than a name or an address.
public struct AccountIdentifier: Hashable, Sendable {
  private let name: Name

  /// The largest length, in bytes of UTF-8.
  public static let maximumByteCount = 1024

  /// Names an account.
  ///
  /// - Parameter text: 1 to 1,024 bytes of UTF-8; compared byte for byte.
  /// - Throws: `invalidName` when it is empty or too long.
  public init(_ text: String) throws(StoreError) {
    let name = try Name(text, as: "account identifier")
    let byteCount = name.text.utf8.count
    guard byteCount <= Self.maximumByteCount else {
      throw StoreError(
        .invalidName, store: "name",
        reason: "the account identifier has \(byteCount) bytes",
        remedy: "Give one of 1 to \(Self.maximumByteCount) bytes")
    }
    self.name = name
  }

  /// The text.
  public var text: String { name.text }
}

extension AccountIdentifier: Comparable {
  /// Orders byte for byte.
  public static func < (left: AccountIdentifier, right: AccountIdentifier) -> Bool {
    left.name < right.name
  }
}

extension AccountIdentifier: CustomStringConvertible {
  /// The text.
  public var description: String { text }
}

/// How an account is part of its items' names: `account/`, the account, `/`, the identifier; `%`
/// and `/` within them are `%25` and `%2F`, so that no two accounts share a name.
extension AccountIdentifier {
  private static let prefix = "account/"

  /// Returns the name of one of the account's items.
  ///
  /// - Throws: `invalidName` when the identifier is empty or too long.
  func name(_ identifier: String, in namespace: StoreNamespace) throws(StoreError) -> ItemName {
    let identifier = try Name(identifier, as: "item identifier")
    return try ItemName(
      Self.prefix + Self.escaped(text) + "/" + Self.escaped(identifier.text), in: namespace)
  }

  /// Returns the account that owns an item; `nil` when it does not belong to an account.
  init?(owning name: ItemName) {
    guard name.identifier.hasPrefix(Self.prefix) else { return nil }
    let parts = name.identifier.utf8.dropFirst(Self.prefix.utf8.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, let text = Self.unescaped(Substring(parts[0])),
      // An invalid account name belongs to no account.
      let account = try? AccountIdentifier(text)
    else { return nil }
    self = account
  }

  private static func escaped(_ text: String) -> String {
    PercentEncoding.encode(text) { $0 == "%" || $0 == "/" }
  }

  private static func unescaped(_ part: Substring) -> String? {
    // Only what ``escaped(_:)`` returns: every name has one escaped form.
    guard let text = PercentEncoding.decode(String(part)),
      escaped(text).utf8.elementsEqual(part.utf8)
    else { return nil }
    return text
  }
}
