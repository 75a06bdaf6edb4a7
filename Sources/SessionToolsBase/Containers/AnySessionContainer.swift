public import Foundation

/// Any container of items of one type.
///
/// What the container inside can do beyond the four old methods is passed through: a container
/// that conforms to ``ObservableSessionContainer`` is asked itself. Any other is called under
/// one lock, so that this value may be shared by tasks and threads even where the container
/// may not; its `async` calls run on a dispatch queue, and its change stream tells what is
/// changed through this value and its copies. The lock covers calls made through here: do not
/// go on using such a container beside it.
public struct AnySessionContainer<T: Codable>: ObservableSessionContainer {
  private let base: any ObservableSessionContainer<T>

  /// Erases the type of a container.
  public init<U: SessionContainer>(_ sessionContainer: U) where U.Item == T {
    switch sessionContainer {
    case let same as AnySessionContainer<T>: base = same.base
    case let observable as any ObservableSessionContainer<T>: base = observable
    default: base = LegacyContainer(sessionContainer)
    }
  }

  /// Whether there is an item; `false` also when the container cannot tell.
  public func hasItem(forIdentifier identifier: String) -> Bool {
    base.hasItem(forIdentifier: identifier)
  }

  /// Reads an item; `nil` when the container gives none.
  ///
  /// - Throws: What the container throws.
  public func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try base.item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Removes an item; no error when there is none.
  ///
  /// - Throws: What the container throws.
  public func removeItem(forIdentifier identifier: String) throws {
    try base.removeItem(forIdentifier: identifier)
  }

  /// Stores an item in the place of an older one, if there is one.
  ///
  /// - Throws: What the container throws.
  public func storeItem(
    _ item: T, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    try base.storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Whether there is an item; an old container answers as its `hasItem` does.
  ///
  /// - Throws: What the container throws.
  public func containsItem(forIdentifier identifier: String) throws -> Bool {
    try base.containsItem(forIdentifier: identifier)
  }

  /// Whether there is an item; an old container answers as its `hasItem` does.
  ///
  /// - Throws: What the container throws.
  public func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await base.asyncContainsItem(forIdentifier: identifier)
  }

  /// Reads an item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: What the container throws, or `StoreError.undecodable` when it says that there
  ///   is an item and gives none.
  public func loadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> T? {
    try base.loadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Reads an item; `nil` when there is none, and for no other reason.
  ///
  /// - Throws: As the blocking twin.
  public func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) async throws -> sending T? {
    try await base.asyncLoadItem(forIdentifier: identifier, jsonDecoder: jsonDecoder)
  }

  /// Stores an item without blocking.
  ///
  /// - Throws: What the container throws.
  public func asyncStoreItem(
    _ item: sending T, forIdentifier identifier: String,
    jsonEncoder: JSONEncoder = JSONEncoder()
  ) async throws {
    try await base.asyncStoreItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
  }

  /// Removes an item without blocking; no error when there is none.
  ///
  /// - Throws: What the container throws.
  public func asyncRemoveItem(forIdentifier identifier: String) async throws {
    try await base.asyncRemoveItem(forIdentifier: identifier)
  }

  /// An element each time the item may have changed, from now on.
  public func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    base.itemChanges(forIdentifier: identifier)
  }

  // MARK: - What sessions ask

  /// The store below, if the container is on one.
  ///
  /// - Throws: `invalidName`.
  package func storeContainer() throws(StoreError) -> StoreContainer<T>? {
    if let wrapper = base as? any WrappingContainer<T> {
      return try wrapper.wrapped.storeContainer()?.over { wrapper.wrap($0) }
    }
    guard let base = base as? any StoreBackedContainer<T> else { return nil }
    return try base.storeContainer()
  }

  /// The container inside, when it is an object.
  var object: ObjectIdentifier? {
    if let wrapper = base as? any WrappingContainer<T> { return wrapper.wrapped.object }
    if let old = base as? LegacyContainer<T> { return old.object ?? ObjectIdentifier(old) }
    return type(of: base) is AnyClass ? ObjectIdentifier(base as AnyObject) : nil
  }
}
