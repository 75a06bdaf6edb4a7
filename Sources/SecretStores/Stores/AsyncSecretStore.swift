/// A store whose natural operations are `async`; the blocking ones wait for them.
///
/// Implement ``SecretStore/traits``, ``SecretStore/protection()``,
/// ``SecretStore/asyncValue(for:)``, ``SecretStore/asyncApply(_:)``,
/// ``SecretStore/asyncNames(in:)``, ``SecretStore/changes()`` and both forms of exclusive access.
///
/// A blocking call holds its thread until the operation ends, so make it from threads of your own
/// or of a dispatch queue: from a task it occupies a thread of the cooperative pool.
public protocol AsyncSecretStore: SecretStore {}

extension AsyncSecretStore {
  /// Waits for the `async` twin.
  ///
  /// - Throws: As the `async` twin.
  public func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    try waiting { store async throws(StoreError) in try await store.asyncValue(for: name) }
  }

  /// Waits for the `async` twin.
  ///
  /// - Throws: As the `async` twin.
  public func contains(_ name: ItemName) throws(StoreError) -> Bool {
    try waiting { store async throws(StoreError) in try await store.asyncContains(name) }
  }

  /// Waits for the `async` twin.
  ///
  /// - Throws: As the `async` twin.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    try waiting { store async throws(StoreError) in try await store.asyncApply(changes) }
  }

  /// Waits for the `async` twin.
  ///
  /// - Throws: As the `async` twin.
  public func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try waiting { store async throws(StoreError) in try await store.asyncNames(in: namespace) }
  }

  /// Returns whether there is an item, by reading it: for stores that have no cheaper way.
  ///
  /// - Throws: As ``SecretStore/asyncValue(for:)``.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await asyncValue(for: name) != nil
  }

  /// Runs an asynchronous operation, blocking the thread until it has ended.
  ///
  /// - Throws: What the operation throws.
  package func waiting<Result: Sendable>(
    _ operation: @escaping @Sendable (Self) async throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try BlockingAnswer.wait { () async throws(StoreError) in try await operation(self) }
  }
}
