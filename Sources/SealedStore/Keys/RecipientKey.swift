public import SecretStores

/// The secret key of a ``Recipient``: a file of exactly 32 bytes, with mode 0600 and owned by the
/// user.
///
/// ```swift
/// let key = try RecipientKey.create(at: "/media/stick/recovery.key")
/// try store.addSlot(key.recipient(label: "recovery"))
/// let fingerprint = try store.fingerprint()
/// // Later, when all other keys are lost:
/// let recovered = try SealedFileStore.open(
///   at: path, key: RecipientKey("/media/stick/recovery.key", expecting: fingerprint))
/// ```
///
/// It opens every store that is sealed to its public key, so keep it away from all of them. Only
/// opening a store needs the file.
///
/// Anyone who knows the public key, which is in the header of the store, can make another store
/// that this key opens. So it opens only the store with the fingerprint that is expected.
public struct RecipientKey: KeySource, SlotMaker {
  /// The path of the file.
  public let path: String
  /// The fingerprint of the store that it opens; without one it opens none, and makes slots.
  public let expected: StoreFingerprint?

  /// Names a secret key, which is read each time it is needed.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - expected: The fingerprint of the store that is to be opened, from
  ///     ``SealedFileStore/fingerprint()`` or `session-tools slots list` where the store was made.
  public init(_ path: String, expecting expected: StoreFingerprint? = nil) {
    self.path = path
    self.expected = expected
  }

  /// Makes a new file with a random secret key (X25519, RFC 7748).
  ///
  /// It is durable when this returns.
  ///
  /// - Throws: `alreadyExists`, `accessDenied`, `noSpace` or `io`.
  public static func create(at path: String) throws(StoreError) -> RecipientKey {
    RecipientKey(try KeyFile.create(at: path).path)
  }

  /// Returns the recipient with the public key of this secret key.
  ///
  /// - Parameter label: A name for the list of slots; not secret, may be empty.
  /// - Returns: The recipient, which no longer needs the file.
  /// - Throws: As ``wrappingKey(for:)``, and `invalidName` when the label has more than 64 bytes.
  public func recipient(label: String = "") throws(StoreError) -> Recipient {
    try Recipient(publicKey: SealedBox.publicKey(of: try secretKey().bytes), label: label)
  }

  /// Returns the key of a slot that is sealed to this key's recipient, otherwise `nil`.
  ///
  /// - Throws: `keyMissing` when there is no such file, `unsafePermissions` when others could
  ///   read or write it, `invalidKey` when it does not have exactly 32 bytes, or `io`.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard let slot = RecipientSlot(slot) else { return nil }
    return try slot.wrappingKey(openedWith: try secretKey())
  }

  /// Accepts the store with the expected fingerprint.
  ///
  /// - Throws: `wrongStore` for another store, or when no fingerprint is expected.
  public func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) throws(StoreError) {
    try fingerprint.check(against: expected, of: store)
  }

  /// Returns a slot for this key's own recipient, without a label.
  ///
  /// - Throws: As ``recipient(label:)``.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    try recipient().makeSlot()
  }

  private func secretKey() throws(StoreError) -> WrappingKey {
    try WrappingKey(
      SecretFile.read(path, maximumByteCount: Sodium.keyByteCount, rule: .privateFile),
      from: path, for: .opening)
  }
}
