public import SecretStores

/// A key of 32 bytes that the program supplies.
public struct RawKey: KeySource, SlotMaker {
  private let key: WrappingKey
  private let label: String

  /// Takes a key.
  ///
  /// - Parameters:
  ///   - bytes: 32 bytes, as random as a key must be: they are used as they are.
  ///   - label: A name for the key in the list of slots; not secret, may be empty.
  /// - Throws: `invalidKey` when there are not 32 bytes.
  public init(_ bytes: SecretBytes, label: String = "") throws(StoreError) {
    key = try WrappingKey(bytes)
    self.label = label
  }

  init(_ key: WrappingKey, label: String) {
    self.key = key
    self.label = label
  }

  /// Makes a new random key.
  ///
  /// - Returns: 32 bytes from the system's random number generator.
  public static func random() -> SecretBytes {
    let buffer = ByteBuffer(byteCount: Sodium.keyByteCount, isSecret: true)
    Sodium.fillRandomly(buffer, 0..<buffer.byteCount)
    return buffer.secret(0..<buffer.byteCount)
  }

  /// Returns the key for every raw key slot, whatever its label.
  public func wrappingKey(for slot: KeySlot.Parameters) -> WrappingKey? {
    if case .rawKey = slot { key } else { nil }
  }

  /// Returns a raw key slot with the label.
  public func makeSlot() -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    (.rawKey(label: label), key)
  }
}
