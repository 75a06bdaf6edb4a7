package import SealedStore
package import SessionToolsBase

/// A key whose slot gets a label of the person's choice.
package struct LabeledKey: KeySource {
  package let key: any KeySource
  /// The label, which anyone who can read the store's files may read.
  package let label: String

  package func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    try key.wrappingKey(for: slot)
  }

  package func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    try key.checkCost(of: slots)
  }

  package func renewed(
    _ slot: KeySlot.Parameters
  ) throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey)? {
    try key.renewed(slot)
  }

  package func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let (parameters, wrappingKey) = try key.makeSlot()
    guard case .rawKey = parameters else { return (parameters, wrappingKey) }
    return (.rawKey(label: label), wrappingKey)
  }
}
