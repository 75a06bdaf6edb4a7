import SessionToolsBase
import SessionToolsTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `a run of checks` {
  private struct Refusal: Error {}

  private func check(_ name: String) throws -> StoreConformance.Check {
    try #require(StoreConformance.all.first { $0.name == name })
  }

  private func failure(
    _ body: () async throws -> Void
  ) async throws -> ConformanceFailure {
    try #require(await #expect(throws: ConformanceFailure.self) { try await body() })
  }

  @Test func `reports which promise was broken, and how`() async throws {
    let check = try check("an empty value is a value, and not an absent item")
    let failure = try await failure {
      try await check.run { BrokenStore.underTest(.takesEmptyForAbsent) }
    }
    #expect(failure.check == check.name && failure.promise == check.promise)
    #expect(
      failure.description == """
        an empty value is a value, and not an absent item (blocking calls): expected the value \
        “empty” (0 bytes) for “conformance” / “item” after it was put, seen: nil, as for an absent \
        item. The promise: \(check.promise)
        """)
  }

  @Test func `reports an error that the store throws, but not if it shows a value`() async throws {
    let check = try check("a short text comes back")
    let locked = try await failure {
      try await check.run {
        let store = FaultyStore(MemoryStore())
        store.lock()
        return StoreUnderTest(store)
      }
    }
    #expect(locked.seen == "StoreError.locked, “faulty store: it is locked. Unlock it.”")
    #expect(locked.underlying as? StoreError != nil)
    let talking = try await failure {
      try await check.run {
        let store = FaultyStore(MemoryStore())
        store.inject(.failing(reason: "it does not take c0nf1dent1al text"))
        return StoreUnderTest(store)
      }
    }
    #expect(talking.seen == "StoreError.io")
  }

  @Test func `refuses a store that a check does not apply to`() async throws {
    let reopening = try check("another object finds what was put")
    #expect(!reopening.applies(to: StoreUnderTest(MemoryStore())))
    let failure = try await failure { try await reopening.run { StoreUnderTest(MemoryStore()) } }
    #expect(failure.seen == "one without reopening")
    let readOnly = try #require(StoreConformance.readOnly.first)
    let other = try await self.failure { try await readOnly.run { StoreUnderTest(MemoryStore()) } }
    #expect(other.expected == "a read-only store")
  }

  @Test func `names the promises of which nothing is known`() async throws {
    let left = try await StoreConformance.run { StoreUnderTest(MemoryStore()) }
    #expect(left == StoreConformance.all.filter { !$0.applies(to: StoreUnderTest(MemoryStore())) })
    #expect(left.contains { $0.requirements.contains(.locking) })
  }

  @Test func `tidies up after every store, even if a check fails`() async throws {
    let (made, tidied) = (Shared(0), Shared(0))
    let makeStore: @Sendable () async throws -> StoreUnderTest = {
      made.update { $0 += 1 }
      let broken = BrokenStore(.takesEmptyForAbsent)
      return StoreUnderTest(broken, cleanUp: { tidied.update { $0 += 1 } })
    }
    let failures = await #expect(throws: ConformanceFailure.List.self) {
      try await StoreConformance.run(on: makeStore)
    }
    #expect(failures?.failures.count == 2, "the other checks are run anyway")
    #expect(made.current > StoreConformance.all.count)
    #expect(tidied.current == made.current)
  }

  @Test func `fails if a store cannot be made or tidied up`() async throws {
    let check = try check("a short text comes back")
    let failure = try await failure { try await check.run { throw Refusal() } }
    #expect(failure.underlying is Refusal)
    await #expect(throws: Refusal.self) {
      try await check.run { StoreUnderTest(MemoryStore(), cleanUp: { throw Refusal() }) }
    }
  }

  @Test func `tidies up after every container, even if a check fails`() async throws {
    let (made, tidied) = (Shared(0), Shared(0))
    let failures = await #expect(throws: ConformanceFailure.List.self) {
      try await ContainerConformance.run {
        made.update { $0 += 1 }
        let container = BrokenContainer(.composesIdentifiers, BrokenItems())
        return ContainerUnderTest(
          container, items: ("first", "second"), cleanUp: { tidied.update { $0 += 1 } })
      }
    }
    #expect(failures?.failures.map(\.check) == ["identifiers are compared byte for byte"])
    #expect(made.current > 20)
    #expect(tidied.current == made.current)
  }

  @Test func `refuses a container that a check does not apply to`() async throws {
    let locking = try #require(
      ContainerConformance.all.first { $0.requirements == [.observable, .locking] })
    let failure = try await failure {
      try await locking.run {
        ContainerUnderTest(BrokenContainer(nil, BrokenItems()), items: ("first", "second"))
      }
    }
    #expect(failure.seen == "one without locking")
  }
}
