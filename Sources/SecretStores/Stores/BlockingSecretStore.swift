public import Dispatch

/// A store whose natural operations block; the `async` ones run them on its queue.
///
/// Implement ``queue``, ``SecretStore/traits``, ``SecretStore/protection()``,
/// ``SecretStore/value(for:)``, ``SecretStore/apply(_:)``, ``SecretStore/names(in:)``,
/// ``SecretStore/changes()`` and both forms of exclusive access.
public protocol BlockingSecretStore: SecretStore {
  /// The queue on which the `async` operations run their blocking twins; read for each operation.
  ///
  /// Return serial queues: on Linux concurrent ones share their threads with Swift's tasks, which
  /// would then wait for the store.
  var queue: DispatchQueue { get }
}

extension BlockingSecretStore {
  /// Runs the blocking twin on ``queue``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await onQueue { store throws(StoreError) in try store.value(for: name) }
  }

  /// Runs the blocking twin on ``queue``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try await onQueue { store throws(StoreError) in try store.contains(name) }
  }

  /// Runs the blocking twin on ``queue``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try await onQueue { store throws(StoreError) in try store.apply(changes) }
  }

  /// Runs the blocking twin on ``queue``.
  ///
  /// - Throws: As the blocking twin.
  public func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await onQueue { store throws(StoreError) in try store.names(in: namespace) }
  }

  /// Runs a blocking operation of this store on ``queue`` and waits for it without blocking.
  ///
  /// - Throws: What the operation throws.
  package func onQueue<Result: Sendable>(
    _ operation: @escaping @Sendable (Self) throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    try await queue.blocking { () throws(StoreError) in try operation(self) }
  }
}
