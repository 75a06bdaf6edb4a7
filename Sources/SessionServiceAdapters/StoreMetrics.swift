#if ServiceAdapters
public import Metrics
package import SecretStores
public import SessionToolsBase
import Synchronization

extension ObservedStore {
  /// Measures a store's operations.
  public init(_ base: some SecretStore, measuring metrics: StoreMetrics) {
    self.init(base, metrics)
  }
}

/// The metrics of one store.
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `session_tools_store_operation_duration_seconds` | timer | `store`, `operation`, `outcome` |
/// | `session_tools_store_connections` | gauge | `store`, `state` |
/// | `session_tools_store_connection_waiters` | gauge | `store` |
///
/// The `operation` is `get`, `contains`, `apply` or `names`, and the `outcome` is `ok` or the code
/// of a `StoreError`. The `state` of a connection to a database is `used`, `idle`, `opening` or
/// `maximum`; the gauges are set after each operation, and only for a store in a database. No
/// dimension has a name of an item.
public final class StoreMetrics: Sendable {
  private let store: String
  private let factory: any MetricsFactory
  private let timers = Mutex<[Key: Timer]>([:])
  private let connections: (used: Meter, idle: Meter, opening: Meter, maximum: Meter)
  private let waiters: Meter

  private struct Key: Hashable {
    let operation: StoreOperation
    let outcome: String
  }

  /// Makes the metrics of a store.
  ///
  /// - Parameters:
  ///   - store: What the dimension `store` is: a word that the program has for it.
  ///   - factory: The factory that makes them; by default the factory that `MetricsSystem` was
  ///     bootstrapped with.
  public init(of store: String, factory: any MetricsFactory = MetricsSystem.factory) {
    self.store = store
    self.factory = factory
    func meter(_ state: String) -> Meter {
      Meter(
        label: "session_tools_store_connections", dimensions: [("store", store), ("state", state)],
        factory: factory)
    }
    connections = (meter("used"), meter("idle"), meter("opening"), meter("maximum"))
    waiters = Meter(
      label: "session_tools_store_connection_waiters", dimensions: [("store", store)],
      factory: factory)
  }

  private func record(
    _ operation: StoreOperation, of store: any SecretStore, since start: ContinuousClock.Instant,
    _ error: StoreError?
  ) {
    let outcome = error?.code.description ?? "ok"
    let timer = timers.withLock { timers in
      let key = Key(operation: operation, outcome: outcome)
      if let timer = timers[key] { return timer }
      let timer = Timer(
        label: "session_tools_store_operation_duration_seconds",
        dimensions: [
          ("store", self.store), ("operation", operation.rawValue), ("outcome", outcome),
        ], factory: factory)
      timers[key] = timer
      return timer
    }
    timer.record(duration: ContinuousClock.now - start)
    guard let now = (store.innermost as? any PooledStore)?.connections else { return }
    connections.used.set(now.usedCount)
    connections.idle.set(now.idleCount)
    connections.opening.set(now.openingCount)
    connections.maximum.set(now.maximumCount)
    waiters.set(now.waiterCount)
  }
}

extension StoreMetrics: StoreObserver {
  func observe<Result>(
    _ operation: StoreOperation, of store: any SecretStore,
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let start = ContinuousClock.now
    do throws(StoreError) {
      let result = try body()
      record(operation, of: store, since: start, nil)
      return result
    } catch {
      record(operation, of: store, since: start, error)
      throw error
    }
  }

  func observe<Result>(
    _ operation: StoreOperation, of store: any SecretStore,
    _ body: () async throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    let start = ContinuousClock.now
    do throws(StoreError) {
      let result = try await body()
      record(operation, of: store, since: start, nil)
      return result
    } catch {
      record(operation, of: store, since: start, error)
      throw error
    }
  }
}
#endif
