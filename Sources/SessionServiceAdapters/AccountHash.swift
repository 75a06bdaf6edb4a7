#if ServiceAdapters
public import SessionToolsBase

/// A keyed hash of account identifiers, for logs that must not name the accounts.
///
/// ```swift
/// let hash = try AccountHash(key: SecretBytes(utf8: key))
/// let log = SessionLog(logger, accounts: .hashed(hash))
/// ```
///
/// It is the first 16 hexadecimal digits of HMAC-SHA256 (RFC 2104, FIPS 180-4) of the identifier in
/// UTF-8, the same in all processes and versions that have the key. An operator who looks for an
/// account finds its hash with ``callAsFunction(_:)``, or where the key is a text with
/// `printf %s ACCOUNT | openssl mac -digest SHA256 -macopt key:KEY HMAC | cut -c 1-16`, in capital
/// letters; other users of that machine can see the arguments. Of a million accounts, two have the
/// same hash with a probability of less than one in ten million.
///
/// Those who have the key can try identifiers that they guess: keep it apart from the logs. The key
/// is not wiped from memory where it is hashed.
public struct AccountHash: Sendable {
  /// The shortest key, in bytes.
  public static let minimumKeyByteCount = 16
  private static let digitCount = 16

  private let key: SecretBytes

  /// Takes a key: any bytes that cannot be guessed, such as 32 random ones.
  ///
  /// - Throws: `invalidKey` when it has less than 16 bytes.
  public init(key: SecretBytes) throws(StoreError) {
    guard key.byteCount >= Self.minimumKeyByteCount else {
      throw StoreError(
        .invalidKey, store: "account hash", reason: "the key has \(key.byteCount) bytes",
        remedy: "Give at least \(Self.minimumKeyByteCount) random bytes")
    }
    self.key = key
  }

  /// Returns the hash of an account: 16 lowercase hexadecimal digits.
  public func callAsFunction(_ account: AccountIdentifier) -> String {
    let code = SHA256.authenticationCode(of: Array(account.text.utf8), key: key.copyBytes())
    let digits = code.flatMap { [$0 >> 4, $0 & 15] }.prefix(Self.digitCount)
    return digits.map { String($0, radix: 16) }.joined()
  }
}
#endif
