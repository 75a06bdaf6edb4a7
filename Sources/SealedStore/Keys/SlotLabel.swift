package import SecretStores

/// The label in a reference: up to 64 bytes of UTF-8, for people, which anyone who can read the
/// header may read.
package struct SlotLabel: Hashable, Sendable {
  package static let maximumByteCount = 64

  package let text: String

  /// - Throws: `invalidName` when the label is longer.
  package init(_ text: String) throws(StoreError) {
    let byteCount = text.utf8.count
    guard byteCount <= Self.maximumByteCount else {
      throw StoreError(
        .invalidName, store: "key slot", reason: "the label of the key slot has \(byteCount) bytes",
        remedy: "Give one of at most \(Self.maximumByteCount) bytes")
    }
    self.text = text
  }

  /// Reads the label at the end of a reference; `nil` when it is too long or not UTF-8.
  init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.maximumByteCount,
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.text = text
  }

  var bytes: [UInt8] { Array(text.utf8) }
}
