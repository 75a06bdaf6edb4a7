/// A store whose natural operations block; the `async` ones run them on its executor.
///
/// Implement ``executor``, ``SecretStore/traits``, ``SecretStore/protection()``,
/// ``SecretStore/value(for:)``, ``SecretStore/apply(_:)``, ``SecretStore/names(in:)``,
/// ``SecretStore/changes()`` and both forms of exclusive access.
public protocol BlockingSecretStore: SecretStore {
  /// The executor on which the `async` operations run their blocking twins.
  ///
  /// Its limit is how many of them run at the same time. Keep one for each store object, so that a
  /// store that does not answer holds up no other.
  var executor: BlockingExecutor { get }
}

extension BlockingSecretStore {
  /// Runs the blocking twin on ``executor``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await onThread { store throws(StoreError) in try store.value(for: name) }
  }

  /// Runs the blocking twin on ``executor``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await onThread { store throws(StoreError) in try store.contains(name) }
  }

  /// Runs the blocking twin on ``executor``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await onThread { store throws(StoreError) in try store.apply(changes) }
  }

  /// Runs the blocking twin on ``executor``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await onThread { store throws(StoreError) in try store.names(in: namespace) }
  }

  /// Runs a blocking operation of this store on ``executor`` and waits for it without blocking.
  ///
  /// - Throws: What the operation throws.
  package func onThread<Result: Sendable>(
    _ operation: @escaping @Sendable (Self) throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    try await executor.blocking { () throws(StoreError) in try operation(self) }
  }
}
