package import SecretStores

/// What the slot of a security key (FIDO2) says: which credential of the key answers, and to what.
///
/// Its reference is `fido2:` and, in base64url, `version 1 ‖ flags 1 ‖ salt 32 ‖ length c of the
/// credential ID 2 ‖ credential ID c ‖ label`.
package struct SecurityKeySlot: ReferencedSlot {
  package static let scheme = "fido2"
  package static let saltByteCount = 32
  package static let credentialByteCounts = 1...1023
  private static let version: UInt8 = 1
  private static let verificationFlag: UInt8 = 1
  private static let credentialOffset = 36

  /// Whether the key has to verify the person, by a PIN or by its own fingerprint reader.
  package let isUserVerified: Bool
  /// What the credential's secret is applied to (`hmac-secret`).
  package let salt: [UInt8]
  package let credential: [UInt8]
  package let label: SlotLabel

  /// - Precondition: The salt has 32 bytes, the credential ID 1 to 1,023.
  package init(isUserVerified: Bool, salt: [UInt8], credential: [UInt8], label: SlotLabel) {
    precondition(salt.count == Self.saltByteCount, "a salt has 32 bytes")
    precondition(Self.credentialByteCounts ~= credential.count, "a credential ID fits the slot")
    self.isUserVerified = isUserVerified
    self.salt = salt
    self.credential = credential
    self.label = label
  }

  /// Reads the reference of a slot; `nil` when it is not exactly the slot of a security key.
  package init?(_ reference: KeyReference) {
    guard reference.scheme == Self.scheme, let bytes = reference.bytes,
      bytes.count >= Self.credentialOffset, bytes[0] == Self.version,
      bytes[1] & ~Self.verificationFlag == 0
    else { return nil }
    let credentialEnd = Self.credentialOffset + Int(bytes[34]) + Int(bytes[35]) << 8
    guard Self.credentialByteCounts ~= credentialEnd - Self.credentialOffset,
      credentialEnd <= bytes.count, let label = SlotLabel(bytes[credentialEnd...])
    else { return nil }
    isUserVerified = bytes[1] == Self.verificationFlag
    salt = Array(bytes[2..<34])
    credential = Array(bytes[Self.credentialOffset..<credentialEnd])
    self.label = label
  }

  /// The parameters of the slot.
  package var parameters: KeySlot.Parameters {
    let reference = KeyReference(scheme: Self.scheme, bytes: bytesBeforeLabel + label.bytes)
    return .namedKey(reference: reference.text)
  }

  private var bytesBeforeLabel: [UInt8] {
    let count = UInt16(credential.count)
    return [Self.version, isUserVerified ? Self.verificationFlag : 0] + salt
      + [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)] + credential
  }

  /// Computes the slot's key.
  ///
  /// - Parameter output: The 32 bytes that the security key answers.
  /// - Returns: `HASH-32(output, "SSNTFID2" ‖ the bytes before the label)`.
  /// - Throws: `invalidKey` when there are not 32, and `unavailable` when the system gives no
  ///   memory.
  package func wrappingKey(from output: SecretBytes) throws(StoreError) -> WrappingKey {
    let input = ByteBuffer(Array("SSNTFID2".utf8) + bytesBeforeLabel)
    let key = try KeyBytes()
    Sodium.hash(input, key: try WrappingKey(output).bytes, into: key)
    return WrappingKey(key)
  }
}
