public import SessionToolsBase

/// A store that a check is made with, and what a test can do with it beyond its operations.
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
/// Checks need one that is fresh and empty each time. Keep no reference to the store itself
/// elsewhere: a check lets go of it, and expects it to be gone.
public struct StoreUnderTest: Sendable {
  /// The store.
  public let store: any SecretStore
  /// Gives another object of the same data, as another process would have.
  public let reopen: (@Sendable () async throws -> any SecretStore)?
  /// Locks the store, so that it cannot be read.
  public let lock: (@Sendable () async throws -> Void)?
  /// Unlocks it again.
  public let unlock: (@Sendable () async throws -> Void)?
  /// Removes what was made for the store, after the check.
  public let cleanUp: (@Sendable () async throws -> Void)?

  /// Describes a store.
  ///
  /// - Parameters:
  ///   - store: The store, which is empty; one that is only read has at least two items.
  ///   - reopen: Gives another object of the same data, for stores that keep it longer than the
  ///     object lives.
  ///   - lock: Locks the store, for those that can be locked.
  ///   - unlock: Unlocks it again.
  ///   - cleanUp: Removes what was made for the store; called once, also when a check fails.
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
