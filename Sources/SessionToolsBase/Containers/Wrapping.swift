/// A container that wraps another one and has the same items.
package protocol WrappingContainer<Item>: ObservableSessionContainer where Item: Codable {
  /// The wrapped container.
  var wrapped: AnySessionContainer<Item> { get }

  /// Wraps the store of the wrapped container, if that is on a store.
  func wrap(_ store: any SecretStore) -> any SecretStore
}

/// A store that wraps another one and has the same items.
package protocol WrappingStore: SecretStore {
  /// The wrapped store.
  var base: any SecretStore { get }
}

extension SecretStore {
  /// The store below all wrappers.
  var innermost: any SecretStore { (self as? any WrappingStore)?.base.innermost ?? self }

  /// The store's object; `nil` for a value.
  var object: ObjectIdentifier? {
    Self.self is AnyClass ? ObjectIdentifier(self as AnyObject) : nil
  }
}
