import Dispatch
import SessionToolsBase
import SessionToolsTesting
import TestStores
import Testing

/// What becomes of an item that a server has issued and that is not stored yet.
@Suite(.timeLimit(.minutes(5))) struct `an item that is not stored yet` {
  let clock: ManualClock
  let server: TokenServer

  init() {
    clock = ManualClock()
    server = TokenServer(clock)
  }

  /// As with a store that makes no changes for a cancelled task.
  @Test func `the item of a handler that answers after it was cancelled is stored`() async throws {
    let clock = clock
    let session = try server.session(CancellableStore()) { $0.handlerTimeout = .seconds(20) }
    try await session.logIn(server.token(in: .zero))
    server.next { [server] request in
      while !Task.isCancelled { await Task.yield() }
      return .refreshed(server.renewed(request.item))
    }
    let waiting = Task { try await session.validItem().number }
    await clock.waitForSleeper(within: .seconds(20))
    clock.advance(by: .seconds(20))
    #expect(try await waiting.value == 1)
    #expect(server.spent == [0])
  }

  /// Another session of the item refreshes between the sign-in's change and its end.
  @Test func `a sign-in keeps what the new user's refresh could not store yet`() async throws {
    let store = InterruptedStore()
    let session = try server.session(store)
    let other = try server.session(store)
    store.interruptNextChange {
      store.refuseNextChange()
      await expectFailure(StoreError.locked) { try await other.validItem() }
    }
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    #expect(server.spent == [0])
  }
}

/// A store in memory that makes no changes for a cancelled task.
private final class CancellableStore: AsyncSecretStore, ForwardingStore {
  let base = MemoryStore()

  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try await base.asyncValue(for: name)
  }
  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    guard !Task.isCancelled else {
      throw StoreError(.cancelled, store: "test", reason: "the task was cancelled")
    }
    try await base.asyncApply(changes)
  }
  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try await base.asyncNames(in: namespace)
  }
}

/// A store in memory, one of whose changes is followed by other work before it returns.
private final class InterruptedStore: BlockingSecretStore, ForwardingStore {
  let executor = BlockingExecutor(maximumThreadCount: 1)
  let base = MemoryStore()
  private let work = Shared<(@Sendable () async -> Void)?>(nil)
  private let refuses = Shared(false)

  func interruptNextChange(_ body: @escaping @Sendable () async -> Void) {
    work.update { $0 = body }
  }
  func refuseNextChange() { refuses.update { $0 = true } }

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }
  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    // A sign-in is made under it, and the refresh in between needs it as well.
    try body()
  }
  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await body()
  }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    guard
      !refuses.update({ refuses in
        defer { refuses = false }
        return refuses
      })
    else { throw StoreError(.locked, store: "test", reason: "it is locked") }
    base.apply(changes)
    guard let work = work.update({ $0.take() }) else { return }
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      await work()
      isDone.signal()
    }
    isDone.wait()
  }
}
