package import SecretStores

/// What the slot of a recipient says: a random key, sealed for the recipient's public key.
///
/// Its reference is `x25519:` and, in base64url, `version 1 ‖ public key 32 ‖ sealed box 80 ‖
/// label`.
package struct RecipientSlot: ReferencedSlot {
  package static let scheme = "x25519"
  private static let version: UInt8 = 1
  private static let boxOffset = 1 + SealedBox.publicKeyByteCount
  private static let labelOffset = boxOffset + SealedBox.byteCount

  package let publicKey: [UInt8]
  /// The slot's key in a sealed box.
  let box: [UInt8]
  package let label: SlotLabel

  /// - Precondition: The public key has 32 bytes, the box 80.
  init(publicKey: [UInt8], box: [UInt8], label: SlotLabel) {
    precondition(publicKey.count == SealedBox.publicKeyByteCount, "a public key has 32 bytes")
    precondition(box.count == SealedBox.byteCount, "a sealed box with a key has 80 bytes")
    self.publicKey = publicKey
    self.box = box
    self.label = label
  }

  /// Reads the reference of a slot; `nil` when it is not exactly the slot of a recipient.
  package init?(_ reference: KeyReference) {
    guard reference.scheme == Self.scheme, let bytes = reference.bytes,
      bytes.count >= Self.labelOffset, bytes[0] == Self.version,
      let label = SlotLabel(bytes[Self.labelOffset...])
    else { return nil }
    publicKey = Array(bytes[1..<Self.boxOffset])
    box = Array(bytes[Self.boxOffset..<Self.labelOffset])
    self.label = label
  }

  /// The parameters of the slot.
  package var parameters: KeySlot.Parameters {
    let bytes = [Self.version] + publicKey + box + label.bytes
    return .namedKey(reference: KeyReference(scheme: Self.scheme, bytes: bytes).text)
  }

  /// Returns the slot's key; `nil` when it is not sealed for the public key of a secret key.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  package func wrappingKey(openedWith secretKey: WrappingKey) throws(StoreError) -> WrappingKey? {
    guard SealedBox.publicKey(of: secretKey.bytes) == publicKey else { return nil }
    let key = try KeyBytes()
    let isOpen = SealedBox.open(box, publicKey: publicKey, secretKey: secretKey.bytes, into: key)
    return isOpen ? WrappingKey(key) : nil
  }

  /// The first characters of the public key's text, which distinguish recipients for a person.
  package var shortKey: String { String(Base64URL.encode(publicKey).prefix(8)) }
}
