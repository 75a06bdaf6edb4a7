package import SealedStore
package import SessionToolsBase

/// The keys of a vector's caller.
package struct VectorKey: KeySource {
  package var rawKey: SecretBytes?
  package var passphrase: SecretBytes?
  package var named: [String: SecretBytes]
  package var recipientKey: SecretBytes?
  package var securityKey: SecretBytes?
  package var appSecret: SecretBytes?

  package init(
    rawKey: SecretBytes? = nil, passphrase: SecretBytes? = nil, named: [String: SecretBytes] = [:],
    recipientKey: SecretBytes? = nil, securityKey: SecretBytes? = nil,
    appSecret: SecretBytes? = nil
  ) {
    self.rawKey = rawKey
    self.passphrase = passphrase
    self.named = named
    self.recipientKey = recipientKey
    self.securityKey = securityKey
    self.appSecret = appSecret
  }

  package func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    switch slot {
    case .rawKey: try rawKey.map { value throws(StoreError) in try WrappingKey(value) }
    case .passphrase:
      if let passphrase { try Passphrase(utf8: passphrase).wrappingKey(for: slot) } else { nil }
    case .namedKey(let reference):
      if let key = named[reference] {
        try WrappingKey(key)
      } else if let recipientKey, let slot = RecipientSlot(slot) {
        try slot.wrappingKey(openedWith: WrappingKey(recipientKey))
      } else if let securityKey {
        try SecurityKeySlot(slot)?.wrappingKey(from: securityKey)
      } else if let appSecret {
        try PortalSlot(slot)?.wrappingKey(from: appSecret)
      } else {
        nil
      }
    }
  }

  package func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    if let passphrase { try Passphrase(utf8: passphrase).checkCost(of: slots) }
  }

  /// Accepts any store: a vector is about its bytes.
  package func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) {}
}
