/// A store that is only read, such as what another program keeps: every change is refused.
///
/// There is no exclusive access either: nothing that the other program would respect.
public protocol ReadOnlySecretStore: SecretStore {
  /// What is thrown instead of a change: `accessDenied`.
  var refusal: StoreError { get }
}

extension ReadOnlySecretStore where Self: BlockingSecretStore {
  /// Refuses, but for an empty list.
  ///
  /// - Throws: `accessDenied`.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    if !changes.isEmpty { throw refusal }
  }
}

extension ReadOnlySecretStore where Self: AsyncSecretStore {
  /// Refuses, but for an empty list.
  ///
  /// - Throws: `accessDenied`.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    if !changes.isEmpty { throw refusal }
  }
}

extension ReadOnlySecretStore {
  /// Refuses.
  ///
  /// - Throws: `accessDenied`.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    throw refusal
  }

  /// Refuses.
  ///
  /// - Throws: `accessDenied`.
  public func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    throw refusal
  }

  /// Tells nothing.
  public func changes() -> AsyncStream<StoreEvent> { AsyncStream { $0.finish() } }
}
