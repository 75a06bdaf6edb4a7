package import SessionToolsBase

/// A store of a test that does some things in its own way, and leaves the others to another store.
///
/// What every such store would forward alike stands here.
package protocol ForwardingStore<Base>: SecretStore {
  associatedtype Base: SecretStore

  /// The store that does what this one does not.
  var base: Base { get }
}

extension ForwardingStore {
  package var traits: StoreTraits { base.traits }

  package func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try base.withExclusiveAccess(to: key, timeout: timeout, body)
  }

  package func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await base.withExclusiveAccess(to: key, timeout: timeout, body)
  }

  package func changes() -> AsyncStream<StoreEvent> { base.changes() }
}
