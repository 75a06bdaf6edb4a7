package import SealedStore
package import SessionToolsBase

/// The keys of a vector's caller.
package struct VectorKey: KeySource {
  package var rawKey: SecretBytes?
  package var passphrase: SecretBytes?
  package var named: [String: SecretBytes]

  package init(
    rawKey: SecretBytes? = nil, passphrase: SecretBytes? = nil, named: [String: SecretBytes] = [:]
  ) {
    self.rawKey = rawKey
    self.passphrase = passphrase
    self.named = named
  }

  package func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    switch slot {
    case .rawKey: try rawKey.map { value throws(StoreError) in try WrappingKey(value) }
    case .passphrase:
      if let passphrase { try Passphrase(utf8: passphrase).wrappingKey(for: slot) } else { nil }
    case .namedKey(let reference):
      try named[reference].map { value throws(StoreError) in try WrappingKey(value) }
    }
  }

  package func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    if let passphrase { try Passphrase(utf8: passphrase).checkCost(of: slots) }
  }

  package func makeSlot() throws(StoreError) -> (
    parameters: KeySlot.Parameters, key: WrappingKey
  ) {
    throw StoreError(.keyMissing, store: "vector", reason: "vectors are read only")
  }
}
