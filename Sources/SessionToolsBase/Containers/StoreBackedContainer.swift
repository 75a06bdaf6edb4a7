/// A container whose items are in a ``SecretStore``, each under a name of its own.
///
/// Sessions of such a container are refreshed once among all processes, and the next refresh
/// notices one that was killed. Conform your own container to this when it is on a store.
public protocol StoreBackedContainer<Item>: ObservableSessionContainer where Item: Codable {
  /// Returns the store, the namespace and the coding, without opening anything.
  ///
  /// - Throws: `invalidName` when the container's names are not valid for items.
  func storeContainer() throws(StoreError) -> StoreContainer<Item>
}
