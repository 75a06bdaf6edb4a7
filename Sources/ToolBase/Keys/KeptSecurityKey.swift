import SealedStore
import SecurityKeys
import SessionToolsBase

/// The security key that is plugged in, as the only one that a revocation keeps: the slots of other
/// security keys are not for it, while opening a store reports that they are missing.
struct KeptSecurityKey: KeySource {
  let key: PluggedInKey

  /// Returns a source for a revocation.
  static func only(_ source: any KeySource) -> any KeySource {
    if let key = source as? PluggedInKey { KeptSecurityKey(key: key) } else { source }
  }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    try SecurityKey.isConnected(for: slot) ? key.wrappingKey(for: slot) : nil
  }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    try key.checkCost(of: slots)
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    try key.makeSlot()
  }
}
