import SessionToolsBase
import Testing

@Suite struct `a memory store` {
  let store = MemoryStore()
  let one: ItemName
  let two: ItemName

  init() throws {
    one = try ItemName("one", in: "service")
    two = try ItemName("two", in: "other")
  }

  @Test func `a value is read until it is removed`() throws {
    #expect(store.value(for: one) == nil)
    #expect(try !store.contains(one))
    try store.put(SecretBytes(utf8: "a"), for: one)
    #expect(store.value(for: one) == SecretBytes(utf8: "a"))
    #expect(try store.contains(one))
    try store.put(SecretBytes(utf8: "b"), for: one)
    #expect(store.value(for: one) == SecretBytes(utf8: "b"))
    try store.remove(one)
    try store.remove(one)
    #expect(store.value(for: one) == nil)
  }

  @Test func `an empty value is a value`() throws {
    try store.put(SecretBytes([UInt8]()), for: one)
    #expect(try store.contains(one))
    #expect(store.value(for: one)?.isEmpty == true)
  }

  @Test func `the async calls return the same`() async throws {
    try await store.put(SecretBytes(utf8: "a"), for: one)
    #expect(try await store.value(for: one) == SecretBytes(utf8: "a"))
    #expect(try await store.contains(one))
    #expect(try await store.names(in: nil) == [one])
    try await store.remove(one)
    #expect(try await store.names(in: nil) == [])
  }

  @Test func `changes of one list are made in order`() throws {
    store.apply([
      .put(SecretBytes(utf8: "a"), for: one), .remove(one), .put(SecretBytes(utf8: "b"), for: one),
      .put(SecretBytes(utf8: "c"), for: two), .remove(two),
    ])
    #expect(store.value(for: one) == SecretBytes(utf8: "b"))
    #expect(store.value(for: two) == nil)
  }

  @Test func `names are those of one namespace or of all, in order`() throws {
    let installed = try ItemName(
      "one", in: StoreNamespace(service: "service", install: InstallIdentifier(rawValue: "i")))
    for name in [two, installed, one] { try store.put(SecretBytes(utf8: "x"), for: name) }
    #expect(store.names(in: nil) == [two, one, installed])
    #expect(store.names(in: "service") == [one])
    #expect(store.names(in: "unused") == [])
  }

  @Test func `changes are reported to every listener, in order`() async throws {
    var first = store.changes().makeAsyncIterator()
    var second = store.changes().makeAsyncIterator()
    try await store.apply([])
    try await store.put(SecretBytes(utf8: "a"), for: one)
    try await store.apply([.remove(one), .remove(two)])
    for _ in 1...2 {
      #expect(await first.next() == .changed([one]))
      #expect(await first.next() == .changed([one, two]))
      swap(&first, &second)
    }
  }

  @Test func `the change stream ends with the store`() async throws {
    var store: MemoryStore? = MemoryStore()
    var stream = try #require(store?.changes()).makeAsyncIterator()
    store = nil
    #expect(await stream.next() == nil)
  }

  @Test func `exclusive access excludes threads and tasks alike`() async throws {
    let (store, one) = (store, one)
    let counter = Unguarded()
    async let fromThreads: [Bool] = onThreads(4) { _ in
      for _ in 0..<200 {
        try? store.withExclusiveAccess(to: one, timeout: .seconds(300)) { counter.count += 1 }
      }
      return true
    }
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<200 {
            try? await store.withExclusiveAccess(to: one, timeout: .seconds(300)) {
              let count = counter.count
              await Task.yield()
              counter.count = count + 1
            }
          }
        }
      }
    }
    _ = await fromThreads
    #expect(counter.count == 1600)
  }

  @Test func `exclusive access ends when its closure throws, and does not cover other names`()
    throws
  {
    #expect(throws: TestError.self) {
      try store.withExclusiveAccess(to: one, timeout: .zero) { throw TestError() }
    }
    let answer = try store.withExclusiveAccess(to: one, timeout: .zero) {
      try store.withExclusiveAccess(to: two, timeout: .zero) { "inside" }
    }
    #expect(answer == "inside")
  }

  @Test func `nested access to the same name waits until the timeout`() async throws {
    let (store, one) = (store, one)
    try await blocking {
      try store.withExclusiveAccess(to: one, timeout: .zero) {
        _ = expectFailure(StoreError.timedOut) {
          try store.withExclusiveAccess(to: one, timeout: .milliseconds(1)) {}
        }
      }
    }
    try await store.withExclusiveAccess(to: one, timeout: .zero) {
      func again() async throws {
        try await store.withExclusiveAccess(to: one, timeout: .milliseconds(1)) {
          await Task.yield()
        }
      }
      _ = await expectFailure(StoreError.timedOut) { try await again() }
    }
  }

  @Test func `its traits promise no more than memory can keep`() {
    #expect(store.traits.isAtomic && !store.traits.isDurable)
    #expect(!store.traits.seesOtherProcesses && !store.traits.excludesOtherProcesses)
  }
}

/// A count that is only safe if the lock under test works.
private final class Unguarded: @unchecked Sendable {
  var count = 0
}
