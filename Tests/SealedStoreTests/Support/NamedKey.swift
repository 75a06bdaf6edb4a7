import SealedStore
import SessionToolsBase

/// A source of keys that are stored under names, as a program would write it for a keyring.
struct NamedKey: KeySource, SlotMaker {
  let reference: String
  var kept: [String: SecretBytes]

  init(_ reference: String, key: SecretBytes) {
    self.reference = reference
    kept = [reference: key]
  }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard case .namedKey(let reference) = slot else { return nil }
    return try key(for: reference)
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    (.namedKey(reference: reference), try key(for: reference))
  }

  private func key(for reference: String) throws(StoreError) -> WrappingKey {
    guard let key = kept[reference] else {
      throw StoreError(.keyMissing, store: reference, reason: "there is no such key")
    }
    return try WrappingKey(key)
  }
}

extension Passphrase {
  /// Makes a passphrase with the lowest allowed cost.
  static func cheap(_ text: String) throws(StoreError) -> Passphrase {
    try Passphrase(text, cost: .fixed(passes: 1, memoryByteCount: 8 << 20))
  }
}
