#if Configuration
public import Configuration
public import ServiceLifecycle
public import SessionToolsBase
import Synchronization

/// A program's secrets from a store, for swift-configuration.
///
/// ```swift
/// let secrets = try await ReloadingSecretStoreProvider(store, namespace: "com.example.shop")
/// let config = ConfigReader(providers: [secrets, EnvironmentVariablesProvider()])
/// let password = try config.requiredString(forKey: "database.password")
/// ```
///
/// The item of a key has the key's components as its name, joined by dots, in exactly this case; a
/// dot or percent sign inside a component is written as `%2E` or `%25`. A key's context is not
/// used. ``SecretSnapshot`` says how a value is read. Every value is marked as secret, so that
/// access reporters do not show it.
///
/// Put it first in the list of providers, and read with `requiredString` or `fetchRequiredString`:
/// the getters with a default, and those that return an optional, take an error for an absent
/// value.
///
/// Values are kept in memory that is wiped; the strings and arrays that readers get are not.
public final class ReloadingSecretStoreProvider: ConfigProvider, Service {
  /// What access reporters call this provider: its type and the service of its namespace.
  public let providerName: String

  private let store: any SecretStore
  private let namespace: StoreNamespace
  private let maximumByteCount: Int
  private let clock: any SessionClock
  private let state: Mutex<State>

  private struct State {
    var snapshot: SecretSnapshot
    var watchers: [Int: AsyncStream<any ConfigSnapshot>.Continuation] = [:]
    var lastWatcher = 0
  }

  /// Reads all items of a namespace.
  ///
  /// A program that cannot read its secrets does not start with defaults instead.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - namespace: The namespace of the program's secrets.
  ///   - maximumByteCount: How many bytes all values together may have; 16 MiB by default.
  ///   - clock: The clock of the pauses after an error.
  /// - Throws: `locked`, `unavailable` or what else the store throws; `valueTooLarge` when there
  ///   is more than `maximumByteCount`.
  public init(
    _ store: some SecretStore, namespace: StoreNamespace, maximumByteCount: Int = 16 << 20,
    clock: any SessionClock = SystemSessionClock()
  ) async throws(StoreError) {
    self.store = store
    self.namespace = namespace
    self.maximumByteCount = maximumByteCount
    self.clock = clock
    providerName = "ReloadingSecretStoreProvider[\(namespace.service)]"
    let values = try await Self.values(of: namespace, in: store, upTo: maximumByteCount)
    state = Mutex(State(snapshot: SecretSnapshot(providerName: providerName, values: values)))
  }

  /// Returns the value that was read last.
  ///
  /// - Throws: `undecodable` when it is not of this type.
  public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    try current.value(forKey: key, type: type)
  }

  /// Reads a value from the store now.
  ///
  /// - Throws: `undecodable` when it is not of this type, or what the store throws.
  public func fetchValue(
    forKey key: AbsoluteConfigKey, type: ConfigType
  ) async throws -> LookupResult {
    let encoded = key.itemIdentifier
    // A key that no item can have.
    guard let name = try? ItemName(encoded, in: namespace) else {
      return LookupResult(encodedKey: encoded, value: nil)
    }
    let value = try await store.value(for: name)
    return LookupResult(encodedKey: encoded, value: try value?.configValue(of: type, at: encoded))
  }

  /// Calls a closure with the value, and with each other one that is stored later while ``run()``
  /// runs.
  ///
  /// While the store cannot be read, the last value stays.
  ///
  /// - Throws: What the closure throws.
  public func watchValue<Return: ~Copyable>(
    forKey key: AbsoluteConfigKey, type: ConfigType,
    updatesHandler: (
      _ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>
    ) async throws -> Return
  ) async throws -> Return {
    try await watch { snapshots in
      try await updatesHandler(
        ConfigUpdatesAsyncSequence(ValueUpdates(snapshots: snapshots, key: key, type: type)))
    }
  }

  /// Returns all values that were read last.
  public func snapshot() -> any ConfigSnapshot { current }

  /// Calls a closure with all values, and again after each change while ``run()`` runs.
  ///
  /// - Throws: What the closure throws.
  public func watchSnapshot<Return: ~Copyable>(
    updatesHandler: (
      _ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>
    ) async throws -> Return
  ) async throws -> Return {
    try await watch { try await updatesHandler(ConfigUpdatesAsyncSequence($0)) }
  }

  /// Reads the values again whenever the store reports a change, until the service is shut down.
  ///
  /// While they cannot be read, it tries again after pauses of 1 to 60 s; readers keep the values
  /// that were read last. The first error of each kind is reported as a notice of the store
  /// (`SessionEvent.storeNotice`).
  public func run() async throws {
    await cancelWhenGracefulShutdown { [self] in
      let events = store.changes()
      // What changed before the stream began.
      await reload()
      for await event in events where event.concerns(namespace) { await reload() }
    }
  }

  /// How many closures are called with changes; for tests.
  var watcherCount: Int { state.withLock { $0.watchers.count } }

  private var current: SecretSnapshot { state.withLock(\.snapshot) }

  private func watch<Return: ~Copyable>(
    _ body: (AsyncStream<any ConfigSnapshot>) async throws -> Return
  ) async throws -> Return {
    let (stream, continuation) = AsyncStream<any ConfigSnapshot>.makeStream(
      bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.lastWatcher += 1
      state.watchers[state.lastWatcher] = continuation
      continuation.yield(state.snapshot)
      return state.lastWatcher
    }
    defer { state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
    return try await body(stream)
  }

  /// Reads all values, as often as it takes.
  private func reload() async {
    var pause = Duration.seconds(1)
    var reported: Set<StoreError.Code> = []
    while !Task.isCancelled {
      do throws(StoreError) {
        return replace(
          by: try await Self.values(of: namespace, in: store, upTo: maximumByteCount))
      } catch {
        if reported.insert(error.code).inserted, error.code != .cancelled {
          StoreReport.report(
            .notice(
              store: providerName,
              "The values could not be read again, and readers have the last ones: \(error)"))
        }
      }
      // It fails only when it is cancelled.
      try? await clock.sleep(for: pause)
      pause = min(pause * 2, .seconds(60))
    }
  }

  private func replace(by values: [String: SecretBytes]) {
    state.withLock { state in
      guard state.snapshot.values != values else { return }
      state.snapshot = SecretSnapshot(providerName: providerName, values: values)
      for watcher in state.watchers.values { watcher.yield(state.snapshot) }
    }
  }

  private static func values(
    of namespace: StoreNamespace, in store: any SecretStore, upTo maximumByteCount: Int
  ) async throws(StoreError) -> [String: SecretBytes] {
    var values: [String: SecretBytes] = [:]
    var byteCount = 0
    for name in try await store.names(in: namespace) {
      // One that was removed meanwhile is absent.
      guard let value = try await store.value(for: name) else { continue }
      byteCount += value.byteCount
      guard byteCount <= maximumByteCount else {
        throw StoreError(
          .valueTooLarge, store: namespace.service,
          reason:
            "the namespace has more than \(maximumByteCount) bytes of values, which would all "
            + "be kept in memory",
          remedy: "Give the program's secrets a namespace of their own, or raise maximumByteCount")
      }
      values[name.identifier] = value
    }
    return values
  }
}

extension StoreEvent {
  /// Returns whether an item of a namespace may have changed.
  fileprivate func concerns(_ namespace: StoreNamespace) -> Bool {
    switch self {
    case .changed(let names): names.contains { $0.namespace == namespace }
    case .resynchronize: true
    }
  }
}

/// The values of one key in snapshots, without those that equal the one before.
private struct ValueUpdates: AsyncSequence, Sendable {
  let snapshots: AsyncStream<any ConfigSnapshot>
  let key: AbsoluteConfigKey
  let type: ConfigType

  func makeAsyncIterator() -> Iterator {
    Iterator(snapshots: snapshots.makeAsyncIterator(), key: key, type: type)
  }

  struct Iterator: AsyncIteratorProtocol {
    var snapshots: AsyncStream<any ConfigSnapshot>.AsyncIterator
    let key: AbsoluteConfigKey
    let type: ConfigType
    var last: Result<LookupResult, any Error>?

    mutating func next(
      isolation actor: isolated (any Actor)?
    ) async -> Result<LookupResult, any Error>? {
      while let snapshot = await snapshots.next(isolation: actor) {
        let value = Result { try snapshot.value(forKey: key, type: type) }
        if let last, let known = try? last.get(), let new = try? value.get(), known == new {
          continue
        }
        last = value
        return value
      }
      return nil
    }
  }
}
#endif
