/// A store that is only read, such as one kept by another program: every change is refused.
///
/// There is no exclusive access either, because the other program would not respect it.
public protocol ReadOnlySecretStore: SecretStore {
  /// The error thrown instead of making a change: `accessDenied`.
  var refusal: StoreError { get }
}

extension ReadOnlySecretStore where Self: BlockingSecretStore {
  /// Refuses any changes except an empty list.
  ///
  /// - Throws: `accessDenied`.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    if !changes.isEmpty { throw refusal }
  }
}

extension ReadOnlySecretStore where Self: AsyncSecretStore {
  /// Refuses any changes except an empty list.
  ///
  /// - Throws: `accessDenied`.
  public func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    if !changes.isEmpty { throw refusal }
  }
}

extension ReadOnlySecretStore {
  /// Refuses exclusive access.
  ///
  /// - Throws: `accessDenied`.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    throw refusal
  }

  /// Refuses exclusive access.
  ///
  /// - Throws: `accessDenied`.
  public func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    throw refusal
  }

  /// Returns a stream without events.
  public func changes() -> AsyncStream<StoreEvent> { AsyncStream { $0.finish() } }
}
