/// A container that stands before another one, whose items are the same.
package protocol WrappingContainer<Item>: ObservableSessionContainer where Item: Codable {
  /// The other one.
  var wrapped: AnySessionContainer<Item> { get }

  /// What stands before the store of the other, if that is on one.
  func wrap(_ store: any SecretStore) -> any SecretStore
}

/// A store that stands before another one, whose items are the same.
package protocol WrappingStore: SecretStore {
  /// The other one.
  var base: any SecretStore { get }
}

extension SecretStore {
  /// The store that no other one stands before.
  var innermost: any SecretStore { (self as? any WrappingStore)?.base.innermost ?? self }
}
