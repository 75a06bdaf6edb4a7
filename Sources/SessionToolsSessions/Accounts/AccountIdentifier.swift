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
