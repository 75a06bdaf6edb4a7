/// Exclusive access and the change stream of one store: the parts a store needs in addition to its
/// items.
///
/// A store of your own keeps a coordinator, forwards both forms of `withExclusiveAccess` and
/// ``SecretStore/changes()`` to it, and reports each change that it made. <doc:WriteAStore> shows
/// how.
///
/// It works only within this process. Exclusive access holds among the tasks and threads that use
/// the same coordinator; a store that excludes other processes takes a lock of the system inside
/// the closure.
public final class StoreCoordinator: Sendable {
  private let nameLocks: NameLocks<ItemName>
  private let observers = Observers()

  /// Makes the coordinator of one store.
  ///
  /// - Parameter store: The store as a person would name it, for errors: a path, or the kind of
  ///   store.
  public init(store: String) {
    nameLocks = NameLocks(store: store)
  }

  /// Runs a closure while no other task or thread has exclusive access to the name.
  ///
  /// Blocks the thread until the name is free. Tasks and threads get it in the order in which they
  /// asked.
  ///
  /// - Returns: What the closure returns.
  /// - Throws: `timedOut`, or what the closure throws.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try nameLocks.lock(name, timeout: timeout)
    defer { nameLocks.unlock(name) }
    return try body()
  }

  /// Runs a closure while no other task or thread has exclusive access to the name.
  ///
  /// Suspends the task until the name is free, and runs the closure where the caller runs.
  ///
  /// - Returns: What the closure returns.
  /// - Throws: `timedOut`, `cancelled` when the task was cancelled while it waited, or what the
  ///   closure throws.
  public nonisolated(nonsending) func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result {
    try await nameLocks.lock(name, timeout: timeout)
    defer { nameLocks.unlock(name) }
    return try await body()
  }

  /// Returns a stream of the events that are reported from now on.
  ///
  /// It ends when its task is cancelled, or when the coordinator is released. Of more than 1,024
  /// unread events, the oldest are dropped, and one `resynchronize` follows.
  public func changes() -> AsyncStream<StoreEvent> {
    observers.stream()
  }

  /// Returns a stream of the events of some names that are reported from now on.
  ///
  /// As ``changes()``; an event costs only those who listen to one of its names.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    observers.stream(of: names)
  }

  /// Sends an event to all streams; never blocks.
  ///
  /// Report a change when it can be read, and in the order in which changes are made, preferably
  /// while holding the lock under which they are made.
  public func report(_ event: StoreEvent) {
    observers.report(event)
  }
}
