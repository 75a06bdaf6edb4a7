import Dispatch
import SessionToolsBase
import SessionToolsTestSupport
import Testing

@Suite struct `name locks` {
  let locks = NameLocks<String>(store: "test")

  @Test func `a name is granted in the order of the requests`() async throws {
    let locks = locks
    let order = Shared<[Int]>([])
    try await locks.lock("a", timeout: .zero)
    var waiters: [Task<Void, any Error>] = []
    for number in 0..<20 {
      waiters.append(
        Task {
          // Threads and tasks wait in one queue.
          if number.isMultiple(of: 2) {
            try await locks.lock("a", timeout: patience)
          } else {
            try await blocking { try locks.lock("a", timeout: patience) }
          }
          order.update { $0.append(number) }
          locks.unlock("a")
        })
      try await wait(until: "\(number) waits") { locks.waiterCount(for: "a") > number }
    }
    locks.unlock("a")
    for waiter in waiters { try await waiter.value }
    #expect(order.current == Array(0..<20))
    try await locks.lock("a", timeout: .zero)
  }

  @Test func `names do not block each other`() async throws {
    try await locks.lock("a", timeout: .zero)
    try await locks.lock("b", timeout: .zero)
    locks.unlock("a")
    try await locks.lock("a", timeout: .zero)
  }

  @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(-1), .milliseconds(-1)])
  func `a name that is held is not granted after the timeout`(timeout: Duration) async throws {
    let locks = locks
    try await locks.lock("a", timeout: .zero)
    await expectFailure(StoreError.timedOut) { try await locks.lock("a", timeout: timeout) }
    await expectFailure(StoreError.timedOut) {
      try await blocking { try locks.lock("a", timeout: timeout) }
    }
    #expect(locks.waiterCount(for: "a") == 0)
    locks.unlock("a")
    try await locks.lock("a", timeout: timeout)
  }

  @Test func `an endless timeout waits`() async throws {
    let locks = locks
    try await locks.lock("a", timeout: .zero)
    let waiter = Task { try await locks.lock("a", timeout: .seconds(Int64.max)) }
    try await wait(until: "it waits") { locks.waiterCount(for: "a") == 1 }
    locks.unlock("a")
    try await waiter.value
  }

  @Test func `a cancelled waiter gives up its place`() async throws {
    let locks = locks
    try await locks.lock("a", timeout: .zero)
    let cancelled = Task { try await locks.lock("a", timeout: patience) }
    try await wait(until: "the first waits") { locks.waiterCount(for: "a") == 1 }
    let next = Task { try await locks.lock("a", timeout: patience) }
    try await wait(until: "the second waits") { locks.waiterCount(for: "a") == 2 }
    cancelled.cancel()
    await expectFailure(StoreError.cancelled) { try await cancelled.value }
    locks.unlock("a")
    try await next.value
  }

  @Test func `a task cancelled before its request gets a free name and no held one`() async throws {
    let locks = locks
    try await locks.lock("held", timeout: .zero)
    let task = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try await locks.lock("free", timeout: patience)
      locks.unlock("free")
      try await locks.lock("held", timeout: patience)
    }
    await expectFailure(StoreError.cancelled) { try await task.value }
    locks.unlock("held")
    try await locks.lock("held", timeout: .zero)
  }

  @Test func `cancelling at any moment neither loses nor leaks the name`() async throws {
    let locks = locks
    let holders = Shared(0)
    let grants = Shared(0)
    await withTaskGroup { group in
      for number in 0..<8 {
        group.addTask {
          for round in 0..<150 {
            let task = Task {
              do {
                try await locks.lock("a", timeout: patience)
              } catch {
                return
              }
              let holderCount = holders.update { count in
                count += 1
                return count
              }
              #expect(holderCount == 1)
              if round.isMultiple(of: 3) { await Task.yield() }
              grants.update { $0 += 1 }
              holders.update { $0 -= 1 }
              locks.unlock("a")
            }
            for _ in 0..<((number * 7 + round) % 5) { await Task.yield() }
            if (number + round) % 2 == 0 { task.cancel() }
            await task.value
          }
        }
      }
    }
    #expect(holders.current == 0)
    #expect(locks.waiterCount(for: "a") == 0)
    #expect(grants.current >= 600, "all tasks that were not cancelled got the name")
    try await locks.lock("a", timeout: .zero)
  }

  @Test(arguments: [
    (Duration.zero, DispatchTimeInterval.nanoseconds(0)), (.seconds(-5), .nanoseconds(0)),
    (.nanoseconds(-1), .nanoseconds(0)), (.nanoseconds(7), .nanoseconds(7)),
    (.seconds(2), .nanoseconds(2_000_000_000)), (.seconds(Int64.max), .never),
    (.seconds(Int64.max / 1_000_000_000) + .milliseconds(999), .never),
  ])
  func `durations of every size become a Dispatch interval`(
    duration: Duration, interval: DispatchTimeInterval
  ) {
    #expect(duration.dispatchInterval == interval)
  }
}
