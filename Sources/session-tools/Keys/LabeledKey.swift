import SealedStore
import SessionToolsBase

/// A key whose slot gets a label of the person's choice.
struct LabeledKey: KeySource {
  let key: any KeySource
  /// The label, which anyone who can read the store's files may read.
  let label: String

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    try key.wrappingKey(for: slot)
  }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    try key.checkCost(of: slots)
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let (parameters, wrappingKey) = try key.makeSlot()
    guard case .rawKey = parameters else { return (parameters, wrappingKey) }
    return (.rawKey(label: label), wrappingKey)
  }
}
