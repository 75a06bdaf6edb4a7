package import SecretStores
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

  /// Waits until the wrapper lets changes through.
  ///
  /// - Throws: As `SecretStore.asyncApply(_:)` of the wrapper.
  func waitUntilChangesAreAllowed() async throws(StoreError)
}

extension SecretStore {
  /// The store below all wrappers.
  var innermost: any SecretStore { (self as? any WrappingStore)?.base.innermost ?? self }

  /// Waits until all wrappers let changes through.
  ///
  /// - Throws: What a wrapper throws.
  func waitUntilChangesAreAllowed() async throws(StoreError) {
    guard let wrapper = self as? any WrappingStore else { return }
    try await wrapper.waitUntilChangesAreAllowed()
    try await wrapper.base.waitUntilChangesAreAllowed()
  }

  /// The store's object; `nil` for a value.
  var object: ObjectIdentifier? {
    Self.self is AnyClass ? ObjectIdentifier(self as AnyObject) : nil
  }
}
