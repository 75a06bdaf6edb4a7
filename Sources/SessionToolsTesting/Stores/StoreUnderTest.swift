public import SessionToolsBase

/// A store for a check, with what a test can do to it beyond its operations.
///
/// ```swift
/// func makeStore() throws -> StoreUnderTest {
///   let path = NSTemporaryDirectory() + UUID().uuidString
///   return StoreUnderTest(
///     try MyStore(path), reopen: { try MyStore(path) },
///     cleanUp: { try FileManager.default.removeItem(atPath: path) })
/// }
/// ```
///
/// Each check needs a fresh and empty store. Keep no other reference to the store: a check releases
/// it, and expects it to be deallocated.
public struct StoreUnderTest: Sendable {
  /// The store.
  public let store: any SecretStore
  /// Returns another object of the same data, as another process would have.
  public let reopen: (@Sendable () async throws -> any SecretStore)?
  /// Locks the store, so that it cannot be read.
  public let lock: (@Sendable () async throws -> Void)?
  /// Unlocks the store again.
  public let unlock: (@Sendable () async throws -> Void)?
  /// Removes what was made for the store, after the check.
  public let cleanUp: (@Sendable () async throws -> Void)?

  /// Describes a store.
  ///
  /// - Parameters:
  ///   - store: The store, which is empty; a read-only store has at least two items.
  ///   - reopen: Returns another object of the same data, for stores that do not lose it when they
  ///     are released.
  ///   - lock: Locks the store, for stores that can be locked.
  ///   - unlock: Unlocks the store again.
  ///   - cleanUp: Removes what was made for the store; called once, even if a check fails.
  public init(
    _ store: some SecretStore,
    reopen: (@Sendable () async throws -> any SecretStore)? = nil,
    lock: (@Sendable () async throws -> Void)? = nil,
    unlock: (@Sendable () async throws -> Void)? = nil,
    cleanUp: (@Sendable () async throws -> Void)? = nil
  ) {
    self.store = store
    self.reopen = reopen
    self.lock = lock
    self.unlock = unlock
    self.cleanUp = cleanUp
  }
}
