import Foundation
import SessionToolsTesting
import Synchronization
import SessionToolsTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct `a manual clock` {
  let clock = ManualClock(now: Date(timeIntervalSince1970: 0))

  /// Names in the order in which they were added.
  private final class Order: Sendable {
    private let names = Mutex<[String]>([])

    var all: [String] { names.withLock { $0 } }
    func add(_ name: String) { names.withLock { $0.append(name) } }
  }

  @Test func `stands still until it is moved`() {
    let (now, uptime) = (clock.now, clock.uptime)
    #expect(now == Date(timeIntervalSince1970: 0))
    clock.advance(by: .seconds(90))
    #expect(clock.now == now + 90)
    #expect(clock.uptime == uptime + .seconds(90))
  }

  @Test func `has a wall clock that is set and jumps by itself`() async {
    let uptime = clock.uptime
    let sleeper = Task { [clock] in try await clock.sleep(for: .seconds(10)) }
    await clock.waitForSleepers(count: 1)
    clock.set(now: Date(timeIntervalSince1970: 1_000_000))
    clock.jump(wallClockBy: .seconds(-86_400))
    #expect(clock.now == Date(timeIntervalSince1970: 913_600))
    #expect(clock.uptime == uptime)
    #expect(clock.sleeperCount == 1, "a jump of the wall clock wakes no sleeper")
    sleeper.cancel()
  }

  @Test func `wakes the sleepers that are due, the earliest first`() async throws {
    let order = Order()
    let sleepers = [3, 1, 2, 9].map { seconds in
      Task { [clock] in
        try await clock.sleep(for: .seconds(seconds))
        order.add("\(seconds)")
      }
    }
    await clock.waitForSleepers(count: 4)
    for seconds in [1, 2, 3] {
      clock.advance(by: .milliseconds(999))
      #expect(clock.sleeperCount == 5 - seconds, "no sleeper is woken a millisecond before")
      clock.advance(by: .milliseconds(1))
      try await wait(until: "sleeper \(seconds) is awake") { order.all.count >= seconds }
    }
    #expect(order.all == ["1", "2", "3"])
    #expect(clock.sleeperCount == 1)
    clock.suspend(for: .seconds(3600))
    #expect(await sleepers[3].result.isSuccess)
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `does not hold a task that sleeps for no time`(duration: Duration) async throws {
    try await clock.sleep(for: duration)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `wakes a task that is cancelled before or while it sleeps`() async {
    let sleeping = Task { [clock] in try await clock.sleep(for: .seconds(10)) }
    await clock.waitForSleepers(count: 1)
    sleeping.cancel()
    await #expect(throws: CancellationError.self) { try await sleeping.value }
    let late = Task { [clock] in
      while !Task.isCancelled { await Task.yield() }
      try await clock.sleep(for: .seconds(10))
    }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test func `reports when a task sleeps that is due soon`() async {
    let order = Order()
    let waiting = Task { [clock] in
      await clock.waitForSleeper(within: .seconds(5))
      order.add("told")
    }
    let long = Task { [clock] in try await clock.sleep(for: .seconds(60)) }
    await clock.waitForSleepers(count: 1)
    #expect(order.all.isEmpty, "a sleeper that is due in a minute does not count")
    let short = Task { [clock] in try await clock.sleep(for: .seconds(5)) }
    await waiting.value
    #expect(order.all == ["told"])
    // Returns at once if there is such a sleeper already.
    await clock.waitForSleeper(within: .seconds(5))
    clock.advance(by: .seconds(60))
    #expect(await long.result.isSuccess)
    #expect(await short.result.isSuccess)
  }

  @Test func `releases a cancelled task that waits for sleepers`() async {
    let waiting = Task { [clock] in await clock.waitForSleepers(count: 1) }
    waiting.cancel()
    await waiting.value
    let late = Task { [clock] in
      while !Task.isCancelled { await Task.yield() }
      await clock.waitForSleeper(within: .seconds(1))
    }
    late.cancel()
    await late.value
    #expect(clock.sleeperCount == 0)
  }

  @Test func `loses no sleeper when many come and go`() async {
    await withTaskGroup(of: Void.self) { group in
      for number in 1...200 {
        group.addTask { [clock] in
          // A cancelled task would throw.
          try? await clock.sleep(for: .seconds(number % 7 + 1))
        }
      }
      group.addTask { [clock] in
        await clock.waitForSleepers(count: 200)
        for _ in 1...7 { clock.advance(by: .seconds(1)) }
      }
    }
    #expect(clock.sleeperCount == 0)
  }

  @Test func `does not go back`() async {
    await #expect(processExitsWith: .failure) { ManualClock().advance(by: .seconds(-1)) }
  }
}

extension Result {
  fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
