/// A container whose items are in a ``SecretStore``, each under a name of its own.
///
/// Sessions of such a container are refreshed once among all processes, and a refresh that was
/// killed is noticed by the next. Conform your own container when it is on a store.
public protocol StoreBackedContainer<Item>: ObservableSessionContainer where Item: Codable {
  /// The store, the namespace and the coding; nothing is opened.
  ///
  /// - Throws: `invalidName` when the items can have no names.
  func storeContainer() throws(StoreError) -> StoreContainer<Item>
}
