package import SessionToolsBase

/// A store of a test that does some things itself, and forwards the others to another store.
///
/// The extension has the functions that all these stores forward in the same way.
package protocol ForwardingStore<Base>: SecretStore {
  associatedtype Base: SecretStore

  /// The store to which calls are forwarded.
  var base: Base { get }
}

extension ForwardingStore {
  package var traits: StoreTraits { base.traits }
  package func protection() throws(StoreError) -> StoreProtection { try base.protection() }

  package func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try base.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  package func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await base.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  package func changes() -> AsyncStream<StoreEvent> { base.changes() }
}
