import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `a faulty store` {
  let memory = MemoryStore()
  let store: FaultyStore
  let clock = ManualClock()
  let names: [ItemName]

  init() throws {
    store = FaultyStore(memory)
    names = try ["a", "b", "c", "d"].map { try ItemName($0, in: "mail") }
  }

  private func code(_ body: () async throws -> Void) async throws -> StoreError.Code? {
    do {
      try await body()
      return nil
    } catch let error as StoreError {
      return error.code
    }
  }

  private func puts(_ text: String = "new") -> [StoreChange] {
    names.map { .put(SecretBytes(utf8: text), for: $0) }
  }

  /// Returns the code of the error that every operation throws, in blocking and `async` calls;
  /// `nil` for an operation that throws nothing.
  private func codes() async throws -> [StoreError.Code?] {
    let (store, name, changes) = (store, names[0], puts())
    return [
      try await code { _ = try await onThread { try store.value(for: name) } },
      try await code { _ = try await onThread { try store.contains(name) } },
      try await code { _ = try await onThread { try store.names(in: nil) } },
      try await code { _ = try await onThread { try store.apply(changes) } },
      try await code {
        try await onThread { try store.withExclusiveAccess(to: name, timeout: .zero) {} }
      },
      try await code { _ = try await store.value(for: name) },
      try await code { _ = try await store.contains(name) },
      try await code { _ = try await store.names(in: nil) },
      try await code { _ = try await store.apply(changes) },
      try await code {
        try await store.withExclusiveAccess(to: name, timeout: .zero) { () async in }
      },
    ]
  }

  @Test func `is locked until it is unlocked`() async throws {
    try await memory.apply(puts("old"))
    store.lock()
    #expect(store.isLocked)
    #expect(try await codes() == Array(repeating: StoreError.locked, count: 10))
    try await store.apply([])
    #expect(try await memory.value(for: names[0]) == SecretBytes(utf8: "old"))
    store.unlock()
    #expect(!store.isLocked)
    #expect(try await codes() == Array(repeating: nil, count: 10))
  }

  @Test func `is out of reach until it is reconnected`() async throws {
    store.disconnect()
    #expect(try await codes() == Array(repeating: StoreError.unavailable, count: 10))
    #expect(try await memory.names(in: nil).isEmpty)
    store.reconnect()
    #expect(try await codes() == Array(repeating: nil, count: 10))
  }

  @Test func `reports that it was unlocked or reconnected, unless it is told not to`() async throws
  {
    var events = store.changes().makeAsyncIterator()
    store.lock()
    store.unlock(isReported: false)
    store.disconnect()
    store.reconnect()
    #expect(await events.next() == .resynchronize)
    store.lock()
    store.unlock()
    #expect(await events.next() == .resynchronize)
    try await store.remove(names[1])
    #expect(await events.next() == .changed([names[1]]))
  }

  @Test func `fails the chosen operations, as often as requested`() async throws {
    store.inject(.failing(StoreError.corrupt), times: nil)
    #expect(try await codes() == Array(repeating: StoreError.corrupt, count: 10))
    store.removeFaults()
    for operation in FaultyStore.Operation.allCases where operation != .changes {
      store.inject(.failing(), into: [operation], times: 2)
    }
    #expect(store.leftFaultCount == 10)
    #expect(try await codes() == Array(repeating: StoreError.io, count: 10))
    #expect(store.leftFaultCount == 0)
    #expect(try await codes() == Array(repeating: nil, count: 10))
  }

  @Test func `fails the chosen call of the chosen item`() async throws {
    store.inject(.failing(StoreError.noSpace), into: [.apply], of: names[1], after: 1)
    var codes: [StoreError.Code?] = []
    for name in [names[0], names[1], names[0], names[1], names[1]] {
      codes.append(try await code { try await store.put(SecretBytes(utf8: "x"), for: name) })
    }
    #expect(codes == [nil, nil, nil, StoreError.noSpace, nil])
  }

  @Test func `applies faults in the order in which they were injected`() async throws {
    store.inject(.failing(StoreError.locked), into: .reads)
    store.inject(.failing(StoreError.corrupt), into: [.value])
    for code in [StoreError.locked, StoreError.corrupt] {
      await #expect { try await store.value(for: names[0]) } throws: { code ~= $0 }
    }
    #expect(try await store.value(for: names[0]) == nil)
  }

  @Test func `changes nothing when a change fails`() async throws {
    try await memory.apply(puts("old"))
    store.inject(.failing(StoreError.noSpace), into: [.apply])
    await #expect { try await store.apply(puts()) } throws: { StoreError.noSpace ~= $0 }
    #expect(names.allSatisfy { memory.value(for: $0) == SecretBytes(utf8: "old") })
  }

  @Test(arguments: [true, false])
  func `reports an unknown outcome of a change that was made, or was not`(isMade: Bool) async throws
  {
    let (store, changes) = (store, puts())
    store.inject(.outcomeUnknown(isMade: isMade), times: 2)
    await #expect { try await store.apply(changes) } throws: { StoreError.outcomeUnknown ~= $0 }
    #expect(try await memory.names(in: nil) == (isMade ? names : []))
    try await memory.apply(names.map { .remove($0) })
    await #expect {
      try await onThread { try store.apply(changes) }
    } throws: {
      StoreError.outcomeUnknown ~= $0
    }
    #expect(try await memory.names(in: nil) == (isMade ? names : []))
  }

  @Test(arguments: 0...5) func `makes the first changes of a torn list`(count: Int) async throws {
    let (store, changes) = (FaultyStore(memory, isAtomic: false), puts())
    #expect(!store.traits.isAtomic)
    store.inject(.torn(after: count, StoreError.io))
    await #expect { try await store.apply(changes) } throws: { StoreError.io ~= $0 }
    #expect(try await memory.names(in: nil) == Array(names.prefix(count)))
    try await memory.apply(names.map { .remove($0) })
    store.inject(.torn(after: count))
    await #expect {
      try await onThread { try store.apply(changes) }
    } throws: {
      StoreError.outcomeUnknown ~= $0
    }
    #expect(try await memory.names(in: nil) == Array(names.prefix(count)))
  }

  @Test func `cannot be torn if it promises to be atomic`() async {
    await #expect(processExitsWith: .failure) {
      FaultyStore(MemoryStore()).inject(.torn(after: 1))
    }
  }

  @Test func `promises no more than the other store`() {
    let torn = FaultyStore(MemoryStore(), isAtomic: false, maximumValueByteCount: 100)
    let store = FaultyStore(torn, isAtomic: true, maximumValueByteCount: 1000)
    #expect(!store.traits.isAtomic)
    #expect(store.traits.maximumValueByteCount == 100)
    #expect(FaultyStore(MemoryStore()).traits == MemoryStore().traits)
  }

  @Test func `is slow by a clock, in blocking and async calls`() async throws {
    let (store, name) = (store, names[0])
    store.inject(.slow(.seconds(5), by: clock), into: [.value, .apply], times: nil)
    let changing = Task { [name] in try await store.put(SecretBytes(utf8: "x"), for: name) }
    await clock.waitForSleeper(within: .seconds(5))
    #expect(try await memory.value(for: name) == nil, "it is slow before it does anything")
    clock.advance(by: .seconds(5))
    try await changing.value
    let reading = Task { [name] in try await onThread { try store.value(for: name) } }
    await clock.waitForSleeper(within: .seconds(5))
    clock.advance(by: .seconds(5))
    #expect(try await reading.value == SecretBytes(utf8: "x"))
    #expect(try await store.names(in: nil) == [name], "other operations are not slow")
  }

  @Test func `does nothing for a task that is cancelled while it is slow`() async throws {
    store.inject(.slow(.seconds(5), by: clock), into: [.apply])
    let changing = Task { [store, names] in
      try await store.put(SecretBytes(utf8: "x"), for: names[0])
    }
    await clock.waitForSleepers(count: 1)
    changing.cancel()
    await #expect { try await changing.value } throws: { StoreError.cancelled ~= $0 }
    #expect(try await memory.names(in: nil).isEmpty)
  }

  @Test func `can be locked while it is slow`() async throws {
    store.inject(.slow(.seconds(5), by: clock), into: [.apply])
    let changing = Task { [store, names] in
      try await store.put(SecretBytes(utf8: "x"), for: names[0])
    }
    await clock.waitForSleepers(count: 1)
    store.lock()
    clock.advance(by: .seconds(5))
    await #expect { try await changing.value } throws: { StoreError.locked ~= $0 }
    #expect(try await memory.names(in: nil).isEmpty)
  }

  @Test func `is slow and then fails, when both are injected`() async throws {
    store.inject(.slow(.seconds(5), by: clock), into: [.value])
    store.inject(.failing(StoreError.timedOut), into: [.value])
    let reading = Task { [store, names] in try await store.value(for: names[0]) }
    await clock.waitForSleepers(count: 1)
    clock.advance(by: .seconds(5))
    await #expect { try await reading.value } throws: { StoreError.timedOut ~= $0 }
    #expect(store.leftFaultCount == 0)
  }

  @Test func `blocks no task while it blocks threads`() async throws {
    let (store, name) = (store, names[0])
    store.inject(.slow(.seconds(5), by: clock), into: [.value], times: nil)
    let readers = (0..<8).map { _ in
      Task { [name] in try await onThread { try store.value(for: name) } }
    }
    await clock.waitForSleepers(count: 8)
    clock.advance(by: .seconds(5))
    for reader in readers { #expect(try await reader.value == nil) }
  }

  @Test func `moves a wall clock and performs the operation`() async throws {
    let (now, uptime) = (clock.now, clock.uptime)
    store.inject(.clockJump(.seconds(-3600), of: clock), into: [.apply])
    try await store.put(SecretBytes(utf8: "x"), for: names[0])
    #expect(try await memory.names(in: nil) == [names[0]])
    #expect(clock.now == now - 3600)
    #expect(clock.uptime == uptime)
  }

  @Test func `ends a stream of changes at once, but not the next`() async throws {
    store.inject(.failing(), into: [.changes])
    var ended = store.changes().makeAsyncIterator()
    #expect(await ended.next() == nil)
    var events = store.changes().makeAsyncIterator()
    try await store.put(SecretBytes(utf8: "x"), for: names[0])
    #expect(await events.next() == .changed([names[0]]))
  }

  @Test func `listens again to a store whose stream has ended`() async throws {
    let inside = FaultyStore(memory)
    let store = FaultyStore(inside)
    inside.inject(.failing(), into: [.changes])
    var ended = store.changes().makeAsyncIterator()
    #expect(await ended.next() == nil)
    // The first stream may still be ending when the next is requested, which then ends too.
    while try await firstEvent(of: store) != .changed([names[0]]) {}
  }

  /// Makes a change, and returns the first event of a new stream; `nil` if the stream ends.
  private func firstEvent(of store: FaultyStore) async throws -> StoreEvent? {
    let events = store.changes()
    try await store.put(SecretBytes(utf8: "x"), for: names[0])
    for await event in events { return event }
    return nil
  }

  @Test func `records every call, but no value`() async throws {
    let (store, name) = (store, names[0])
    store.inject(.failing(), into: [.contains])
    try await store.apply([.put(SecretBytes(utf8: "s3cret"), for: name), .remove(names[1])])
    _ = try await onThread { try store.value(for: name) }
    _ = try await store.names(in: "mail")
    await #expect(throws: StoreError.self) { try await store.contains(name) }
    try await store.withExclusiveAccess(to: name, timeout: .zero) { () async in }
    _ = store.changes()
    #expect(
      store.calls.map { "\($0.operation) \($0.kind) \($0.names.map(\.identifier))" } == [
        #"apply async ["a", "b"]"#, #"value blocking ["a"]"#, "names async []",
        #"contains async ["a"]"#, #"exclusiveAccess async ["a"]"#, "changes blocking []",
      ])
    #expect(store.calls[2].namespace == "mail")
    #expect(store.callCount(of: .reads) == 3)
    #expect(!"\(store.calls)".contains("s3cret"))
    store.removeCalls()
    #expect(store.calls.isEmpty)
  }

  @Test func `applies a fault as often as requested, whatever the number of callers`() async throws
  {
    store.inject(.failing(), into: [.value], after: 100, times: 50)
    let failureCount = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<400 {
        group.addTask { [store, names] in
          do {
            _ = try await store.value(for: names[0])
            return false
          } catch {
            return true
          }
        }
      }
      return await group.reduce(0) { $1 ? $0 + 1 : $0 }
    }
    #expect(failureCount == 50)
    #expect(store.calls.count == 400)
  }

  @Test func `refuses values that are larger than its limit`() async throws {
    let store = FaultyStore(memory, maximumValueByteCount: 3)
    try await store.put(SecretBytes(utf8: "abc"), for: names[0])
    await #expect {
      try await store.put(SecretBytes(utf8: "abcd"), for: names[1])
    } throws: {
      StoreError.valueTooLarge ~= $0
    }
    #expect(try await memory.names(in: nil) == [names[0]])
  }

  @Test func `refuses lists that are longer than its limit`() async throws {
    let store = FaultyStore(memory, maximumChangeCount: 2)
    #expect(store.traits.maximumChangeCount == 2)
    #expect(FaultyStore(store, maximumChangeCount: 3).traits.maximumChangeCount == 2)
    let changes = names.prefix(3).map { StoreChange.put(SecretBytes(utf8: "abc"), for: $0) }
    try #require(changes.count == 3)
    await #expect {
      try await store.apply(changes)
    } throws: {
      StoreError.valueTooLarge ~= $0
    }
    #expect(try await memory.names(in: nil).isEmpty)
    try await store.apply(Array(changes.prefix(2)))
    #expect(try await memory.names(in: nil).count == 2)
  }

  @Test func `has its state shown by a session`() async throws {
    let session = Session<String>(
      container: try StoreContainer(store, service: "mail"), storageIdentifier: "user")
    try await session.save("Ada")
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.item == "Ada")
    store.lock()
    let state = await session.currentState()
    #expect(isLocked(state), "a locked store is not taken for signed out")
    store.unlock()
    #expect(await session.currentState().item == "Ada")
  }

  @Test func `delays a refresh while it is slow, by the clock of both`() async throws {
    let session = UserSession(
      container: try StoreContainer<Pass>(store, service: "mail"),
      storageIdentifier: "pass", notificationPoster: nil,
      refresher: SessionRefresher(clock: clock) { [clock] request in
        .refreshed(Pass(number: request.item.number + 1, expirationDate: clock.now + 3600))
      })
    try session.didLogIn(Pass(number: 1, expirationDate: clock.now))
    store.inject(.slow(.seconds(5), by: clock), into: [.apply])
    let validItem = Task { try await session.validItem() }
    await clock.waitForSleeper(within: .seconds(5))
    clock.advance(by: .seconds(5))
    #expect(try await validItem.value.number == 2)
  }

  private func isLocked(_ state: SessionState<String>) -> Bool {
    if case .unavailable(let error) = state { StoreError.locked ~= error } else { false }
  }
}

private struct Pass: Codable, ExpiringItem, Sendable {
  var number: Int
  var expirationDate: Date?
}
