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
  /// The wrapped store, always the same one.
  var base: any SecretStore { get }

  /// Whether it lets every read of the wrapped store through, so that an item is read once for
  /// several callers.
  var isTransparent: Bool { get }

  /// Waits until the wrapper lets changes through.
  ///
  /// - Throws: As `SecretStore.asyncApply(_:)` of the wrapper.
  func waitUntilChangesAreAllowed() async throws(StoreError)
}

extension WrappingStore {
  /// A gate gives an item to one caller, and not to another.
  package var isTransparent: Bool { false }

  /// Waits until this wrapper and all below it let changes through.
  ///
  /// - Throws: What a wrapper throws.
  func waitUntilAllAllowChanges() async throws(StoreError) {
    try await waitUntilChangesAreAllowed()
    try await (base as? any WrappingStore)?.waitUntilAllAllowChanges()
  }
}

extension SecretStore {
  /// The store below all wrappers.
  package var innermost: any SecretStore { (self as? any WrappingStore)?.base.innermost ?? self }

  /// The store's object; `nil` for a value.
  var object: ObjectIdentifier? {
    if let wrapper = self as? any WrappingStore, wrapper.isTransparent {
      return wrapper.base.object
    }
    return Self.self is AnyClass ? ObjectIdentifier(self as AnyObject) : nil
  }
}
