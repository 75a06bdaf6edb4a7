#if ServiceAdapters || Tracing
package import SecretStores
public import SessionToolsBase

/// A store whose operations are measured, or are spans of a trace, or both.
///
/// ```swift
/// let store = ObservedStore(sealed, measuring: StoreMetrics(of: "logins"))
/// ```
///
/// Sessions on it refresh and share their state as on the store itself. Their changes that depend
/// on the stored item, such as that of a refresh, go around the wrapper and are not observed.
public struct ObservedStore: SecretStore, WrappingStore {
  package let base: any SecretStore
  package var isTransparent: Bool { true }
  private let observer: any StoreObserver

  init(_ base: any SecretStore, _ observer: any StoreObserver) {
    self.base = base
    self.observer = observer
  }

  /// The store's traits.
  public var traits: StoreTraits { base.traits }

  /// Returns what protects the store.
  ///
  /// - Throws: As the store.
  public func protection() throws(StoreError) -> StoreProtection { try base.protection() }

  /// Returns the identity of the store.
  ///
  /// - Throws: As the store.
  public func identity() throws(StoreError) -> String? { try base.identity() }

  /// Reads one value.
  ///
  /// - Throws: As the store.
  public func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    try observer.observe(.get, of: base) { () throws(StoreError) in try base.value(for: name) }
  }

  /// Reads one value.
  ///
  /// - Throws: As the store.
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await observer.observe(.get, of: base) { () async throws(StoreError) in
      try await base.asyncValue(for: name)
    }
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As the store.
  public func contains(_ name: ItemName) throws(StoreError) -> Bool {
    try observer.observe(.contains, of: base) { () throws(StoreError) in try base.contains(name) }
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As the store.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await observer.observe(.contains, of: base) { () async throws(StoreError) in
      try await base.asyncContains(name)
    }
  }

  /// Makes changes.
  ///
  /// - Throws: As the store.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    try observer.observe(.apply, of: base) { () throws(StoreError) in try base.apply(changes) }
  }

  /// Makes changes.
  ///
  /// - Throws: As the store.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await observer.observe(.apply, of: base) { () async throws(StoreError) in
      try await base.asyncApply(changes)
    }
  }

  /// Returns the names of a namespace, or of all.
  ///
  /// - Throws: As the store.
  public func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try observer.observe(.names, of: base) { () throws(StoreError) in
      try base.names(in: namespace)
    }
  }

  /// Returns the names of a namespace, or of all.
  ///
  /// - Throws: As the store.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await observer.observe(.names, of: base) { () async throws(StoreError) in
      try await base.asyncNames(in: namespace)
    }
  }

  /// Checks the store, which is not observed.
  ///
  /// - Throws: As the store.
  public func check(within timeout: Duration) throws(StoreError) {
    try base.check(within: timeout)
  }

  /// Checks the store, which is not observed.
  ///
  /// - Throws: As the store.
  public func asyncCheck(within timeout: Duration) async throws(StoreError) {
    try await base.asyncCheck(within: timeout)
  }

  /// Runs a closure with exclusive access, which is not observed: `SessionEvent` reports waits.
  ///
  /// - Throws: As the store.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try base.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Runs a closure with exclusive access, which is not observed: `SessionEvent` reports waits.
  ///
  /// - Throws: As the store.
  public nonisolated(nonsending) func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    try await base.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Returns the store's stream of changes.
  public func changes() -> AsyncStream<StoreEvent> { base.changes() }

  /// Returns the store's stream of changes of some names.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    base.changes(of: names)
  }

  /// Lets changes through.
  package func waitUntilChangesAreAllowed() async throws(StoreError) {}
}

/// An operation of a store.
enum StoreOperation: String, CaseIterable {
  case get, contains, apply, names
}

/// What is done around each operation of a store.
protocol StoreObserver: Sendable {
  func observe<Result>(
    _ operation: StoreOperation, of store: any SecretStore,
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result

  func observe<Result>(
    _ operation: StoreOperation, of store: any SecretStore,
    _ body: () async throws(StoreError) -> Result
  ) async throws(StoreError) -> Result
}
#endif
