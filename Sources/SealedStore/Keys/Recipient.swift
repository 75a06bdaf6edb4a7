public import SecretStores

/// The holder of a ``RecipientKey``, to whom a store is sealed by the public key alone: a
/// colleague, or a key that is kept offline for the day when all others are lost.
///
/// ```swift
/// try store.addSlot(Recipient("st-recipient-…", label: "recovery"))
/// ```
///
/// It makes slots and opens none. Nothing secret is needed for it, so anyone may keep the text; but
/// a person who can replace the text before it is used becomes the recipient. The slot shows the
/// public key and the label to anyone who can read the store's files.
///
/// A slot does not resist a quantum computer of the future that has a copy of the store's header.
public struct Recipient: SlotMaker {
  private static let texts = CheckedText(
    prefix: "st-recipient-", byteCount: SealedBox.publicKeyByteCount)

  /// A name for the slot's list, up to 64 bytes of UTF-8; may be empty.
  public var label: String { slotLabel.text }

  private let publicKey: [UInt8]
  private let slotLabel: SlotLabel

  /// Reads the text of a public key.
  ///
  /// - Parameters:
  ///   - text: `st-recipient-` and 48 characters, as ``text`` has it.
  ///   - label: A name for the list of slots; not secret, may be empty.
  /// - Throws: `invalidKey` when this is not the text of a public key, a character of it was
  ///   changed, or the key is one for which anyone could open what is sealed; `invalidName` when
  ///   the label has more than 64 bytes.
  public init(_ text: String, label: String = "") throws(StoreError) {
    let publicKey: [UInt8]
    do throws(CheckedText.Defect) {
      publicKey = try Self.texts.decode(text)
    } catch {
      throw Self.invalid(
        error == .changed
          ? "the text of the recipient was changed: its last characters do not fit"
          : "this is not the text of a recipient")
    }
    try self.init(publicKey: publicKey, label: label)
  }

  init(publicKey: [UInt8], label: String) throws(StoreError) {
    guard SealedBox.accepts(publicKey) else {
      throw Self.invalid(
        "anyone could open what is sealed for this recipient",
        remedy: "Find out who made it, and ask for another one")
    }
    self.publicKey = publicKey
    slotLabel = try SlotLabel(label)
  }

  /// The text of the public key, 61 characters: `st-recipient-` and, in base64url without padding,
  /// `public key 32 ‖ the first 4 bytes of HASH-16(no key, public key)`.
  public var text: String { Self.texts.encode(publicKey) }

  /// Returns the same recipient with another label.
  ///
  /// - Throws: `invalidName` when the label has more than 64 bytes.
  package func labeled(_ label: String) throws(StoreError) -> Recipient {
    try Recipient(publicKey: publicKey, label: label)
  }

  private static func invalid(
    _ reason: String,
    remedy: String = "Copy the whole line that session-tools recipient show prints where the key is"
  ) -> StoreError {
    StoreError(.invalidKey, store: "recipient", reason: reason, remedy: remedy)
  }

  /// Returns a slot with a new random key, sealed for the recipient.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let key = try WrappingKey(RawKey.random())
    guard let box = SealedBox.seal(key.bytes, for: publicKey) else {
      throw Self.invalid("nothing can be sealed for this recipient")
    }
    let slot = RecipientSlot(publicKey: publicKey, box: box, label: slotLabel)
    return (slot.parameters, key)
  }

  /// Returns a new slot in the place of one for the same public key, with the label of that one;
  /// `nil` for other slots.
  ///
  /// This shows nothing about the key that is sealed in the old slot.
  ///
  /// - Throws: As ``makeSlot()``.
  func renewed(
    _ slot: KeySlot.Parameters
  ) throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey)? {
    guard let old = RecipientSlot(slot), old.publicKey == publicKey else { return nil }
    return try labeled(old.label.text).makeSlot()
  }
}
