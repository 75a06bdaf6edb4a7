import SessionToolsBase
import SessionToolsTesting
import Testing

/// Probes of stores that have no way of their own.
@Suite struct StoreCheckTests {
  @Test func `a store that answers is ready`() async throws {
    try await MemoryStore().check(within: .seconds(86_400))
  }

  @Test func `a store that refuses says why`() async throws {
    let store = FaultyStore(MemoryStore())
    store.lock()
    let error = await #expect(throws: StoreError.self) {
      try await store.check(within: .seconds(86_400))
    }
    #expect(error?.code == .locked)
  }

  @Test func `a store that does not answer is not waited for`() async throws {
    let clock = ManualClock()
    let store = FaultyStore(MemoryStore())
    // Until the clock is advanced, which it is not.
    store.inject(.slow(.seconds(1), by: clock), into: [.contains])
    let error = await #expect(throws: StoreError.self) {
      try await store.check(within: .milliseconds(20))
    }
    #expect(error?.code == .timedOut)
  }

  @Test func `a check that is cancelled ends`() async throws {
    let clock = ManualClock()
    let store = FaultyStore(MemoryStore())
    store.inject(.slow(.seconds(1), by: clock), into: [.contains])
    let check = Task { try await store.check(within: .seconds(86_400)) }
    await clock.waitForSleeper(within: .seconds(1))
    check.cancel()
    let error = await #expect(throws: StoreError.self) { try await check.value }
    #expect(error?.code == .cancelled)
  }
}
