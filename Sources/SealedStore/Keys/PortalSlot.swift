package import SecretStores

/// What the slot of a sandboxed app says: how the slot's key is computed from the secret that the
/// desktop's portal keeps for the app.
///
/// Its reference is `portal:` and, in base64url, `version 1 ‖ salt 32`. It does not name the app,
/// because the portal gives an app no secret but its own.
package struct PortalSlot: ReferencedSlot {
  package static let scheme = "portal"
  private static let version: UInt8 = 1
  private static let saltByteCount = 32

  private let salt: [UInt8]

  /// Makes a new slot, with a random salt.
  package init() {
    let bytes = ByteBuffer(byteCount: Self.saltByteCount)
    Sodium.fillRandomly(bytes, 0..<bytes.byteCount)
    salt = bytes.bytes(0..<bytes.byteCount)
  }

  /// Reads the reference of a slot; `nil` when it is not exactly the slot of a sandboxed app.
  package init?(_ reference: KeyReference) {
    guard reference.scheme == Self.scheme, let bytes = reference.bytes,
      bytes.count == 1 + Self.saltByteCount, bytes[0] == Self.version
    else { return nil }
    salt = Array(bytes[1...])
  }

  /// The parameters of the slot.
  package var parameters: KeySlot.Parameters {
    .namedKey(reference: KeyReference(scheme: Self.scheme, bytes: bytes).text)
  }

  private var bytes: [UInt8] { [Self.version] + salt }

  /// Computes the slot's key.
  ///
  /// - Parameter secret: The app's secret, of any length.
  /// - Returns: `HASH-32(HASH-32(no key, secret), "SSNTPORT" ‖ the bytes of the reference)`.
  /// - Throws: `unavailable` when the system gives no memory.
  package func wrappingKey(from secret: SecretBytes) throws(StoreError) -> WrappingKey {
    let input = ByteBuffer(byteCount: secret.byteCount, isSecret: true)
    input.copy(secret, to: 0)
    let hashed = try KeyBytes()
    Sodium.hash(input, key: nil, into: hashed)
    let key = try KeyBytes()
    Sodium.hash(ByteBuffer(Array("SSNTPORT".utf8) + bytes), key: hashed, into: key)
    return WrappingKey(key)
  }
}
