public import SecretStores
import Synchronization

/// The `async` methods, which run on a thread of their own; cancelling the task stops the migration
/// so that it can be resumed.
extension Migration {
  /// Returns the plan of what the migration would do now.
  ///
  /// - Throws: As the blocking method; `store` with `cancelled`.
  public func plan(progress: Progress? = nil) async throws(MigrationError) -> MigrationPlan {
    try await plan(progress: progress) { _ in }
  }

  /// Returns the plan of what the migration would do now, and passes on what it would do with each
  /// item.
  ///
  /// - Throws: As the blocking method; `store` with `cancelled`.
  public func plan(
    progress: Progress? = nil,
    _ body: @escaping @Sendable (MigrationPlan.Entry) throws(StoreError) -> Void
  ) async throws(MigrationError) -> MigrationPlan {
    try await onThread { migration throws(MigrationError) in
      try migration.plan(progress: progress, body)
    }
  }

  /// Migrates.
  ///
  /// - Throws: As the blocking method; `store` with `cancelled`.
  public func run(
    progress: Progress? = nil
  ) async throws(MigrationError) -> MigrationReport {
    try await onThread { migration throws(MigrationError) in try migration.run(progress: progress) }
  }

  /// Continues a migration that was interrupted.
  ///
  /// - Throws: As the blocking method; `store` with `cancelled`.
  public func resume(
    progress: Progress? = nil
  ) async throws(MigrationError) -> MigrationReport {
    try await onThread { migration throws(MigrationError) in
      try migration.resume(progress: progress)
    }
  }

  /// Restores both stores to what they were before.
  ///
  /// - Throws: As the blocking method; `store` with `cancelled`.
  public func undo(
    progress: Progress? = nil
  ) async throws(MigrationError) -> UndoReport {
    try await onThread { migration throws(MigrationError) in try migration.undo(progress: progress)
    }
  }

  /// Forgets the migration.
  ///
  /// - Throws: As the blocking method.
  public func close() async throws(MigrationError) {
    try await onThread { migration throws(MigrationError) in try migration.close() }
  }

  /// Returns how far the journal's migration is; `nil` if the journal has no migration.
  ///
  /// - Throws: As the blocking method.
  public func state() async throws(MigrationError) -> State? {
    try await onThread { migration throws(MigrationError) in try migration.state() }
  }

  private func onThread<Result: Sendable>(
    _ body: @escaping @Sendable (Migration) throws(MigrationError) -> Result
  ) async throws(MigrationError) -> Result {
    let cancellation = Cancellation()
    var migration = self
    migration.isCancelled = { [isCancelled] in isCancelled() || cancellation.isWanted }
    let thread = BlockingExecutor(maximumThreadCount: 1)
    return try await withTaskCancellationHandler { [migration] in
      await thread.result(of: { () throws(MigrationError) in try body(migration) })
    } onCancel: {
      cancellation.want()
    }.get()
  }
}

private final class Cancellation: Sendable {
  private let isSet = Atomic(false)

  var isWanted: Bool { isSet.load(ordering: .relaxed) }

  func want() { isSet.store(true, ordering: .relaxed) }
}
