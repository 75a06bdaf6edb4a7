/// A store whose natural operations are `async`; the blocking ones wait for them.
///
/// Implement ``SecretStore/traits``, ``SecretStore/protection()``,
/// ``SecretStore/asyncValue(for:)``, ``SecretStore/asyncApply(_:)``,
/// ``SecretStore/asyncKeys(in:)``, ``SecretStore/changes()`` and both forms of exclusive access.
///
/// A blocking call holds its thread until the operation ends, so make it from threads of your own
/// or of a dispatch queue: from a task it occupies a thread of the cooperative pool.
public protocol AsyncSecretStore: SecretStore {}

extension AsyncSecretStore {
  /// Waits for the `async` twin.
  ///
  /// - Throws: As the `async` twin.
  public func value(for key: StoreKey) throws(StoreError) -> SecretBytes? {
    try waiting { store async throws(StoreError) in try await store.asyncValue(for: key) }
  }

  /// Waits for the `async` twin.
  ///
  /// - Throws: As the `async` twin.
  public func contains(_ key: StoreKey) throws(StoreError) -> Bool {
    try waiting { store async throws(StoreError) in try await store.asyncContains(key) }
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
  public func keys(in namespace: StoreNamespace?) throws(StoreError) -> [StoreKey] {
    try waiting { store async throws(StoreError) in try await store.asyncKeys(in: namespace) }
  }

  /// Returns whether there is an item, by reading it: for stores that have no cheaper way.
  ///
  /// - Throws: As ``SecretStore/asyncValue(for:)``.
  public func asyncContains(_ key: StoreKey) async throws(StoreError) -> Bool {
    try await asyncValue(for: key) != nil
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
