package import SealedStore
package import SessionToolsBase

/// A raw key whose slot gets a label of the person's choice.
package struct LabeledKey: SlotMaker {
  package let key: any SlotMaker
  /// The label, which anyone who can read the store's files may read.
  package let label: String

  package func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let (parameters, wrappingKey) = try key.makeSlot()
    guard case .rawKey = parameters else { return (parameters, wrappingKey) }
    return (.rawKey(label: label), wrappingKey)
  }
}
