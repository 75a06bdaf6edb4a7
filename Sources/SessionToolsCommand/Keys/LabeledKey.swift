import SealedStore
import SessionToolsBase

/// A raw key whose slot gets a label of the person's choice.
struct LabeledKey: SlotMaker {
  let key: any SlotMaker
  /// The label, which anyone who can read the store's files may read.
  let label: String

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let (parameters, wrappingKey) = try key.makeSlot()
    guard case .rawKey = parameters else { return (parameters, wrappingKey) }
    return (.rawKey(label: label), wrappingKey)
  }
}
