public import Foundation
public import SessionToolsBase

/// Clocks that stand still until a test moves them.
///
/// Give one to a `SessionRefresher`, or to a slow ``FaultyStore/Fault``, and no test needs to wait:
///
/// ```swift
/// let clock = ManualClock()
/// let refresher = SessionRefresher<Tokens>(clock: clock) { … }
/// async let item = session.validItem()
/// await clock.waitForSleeper(within: .seconds(30))
/// clock.advance(by: .seconds(30))
/// ```
///
/// Any number of tasks and threads may use it at the same time.
public final class ManualClock: SessionClock {
  private struct Sleeper {
    let due: Duration
    let number: Int
    let wake: CheckedContinuation<Void, any Error>
  }

  /// The sleepers that a test waits for.
  private struct Wish {
    let count: Int
    let span: Duration?
  }

  private struct State {
    var now: Date
    var uptime = Duration.seconds(1000)
    var nextNumber = 0
    var sleepers: [Int: Sleeper] = [:]
    var watchers: [Int: (wish: Wish, wake: CheckedContinuation<Void, Never>)] = [:]

    func satisfies(_ wish: Wish) -> Bool {
      let awaited = sleepers.values.count { sleeper in
        wish.span.map { sleeper.due - uptime <= $0 } ?? true
      }
      return awaited >= wish.count
    }

    mutating func number() -> Int {
      nextNumber += 1
      return nextNumber
    }
  }

  private let state: Shared<State>

  /// Creates clocks that stand still; by default in January 2027.
  public init(now: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
    state = Shared(State(now: now))
  }

  /// The wall clock, as it was set last.
  public var now: Date { state.update { $0.now } }

  /// The time that never jumps.
  public var uptime: Duration { state.update { $0.uptime } }

  /// How many sleepers there are now.
  public var sleeperCount: Int { state.update { $0.sleepers.count } }

  // MARK: - Moving

  /// Advances both clocks, and wakes the sleepers that are due, the earliest first.
  ///
  /// Does not wait for what these do next; ``waitForSleeper(within:)`` can wait until they sleep
  /// again.
  ///
  /// - Precondition: The time is not negative.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "time goes forward; set(now:) sets the wall clock")
    let due = state.update { state in
      state.now += duration / .seconds(1)
      state.uptime += duration
      let due = state.sleepers.values.filter { $0.due <= state.uptime }
      for sleeper in due { state.sleepers[sleeper.number] = nil }
      return due.sorted { ($0.due, $0.number) < ($1.due, $1.number) }
    }
    for sleeper in due { sleeper.wake.resume() }
  }

  /// Simulates sleep of the machine: both clocks continue, and sleepers that are due wake with it.
  ///
  /// The same as ``advance(by:)``, because `uptime` counts the machine's sleep; in a test it states
  /// the intention.
  public func suspend(for duration: Duration) {
    advance(by: duration)
  }

  /// Sets only the wall clock: no sleeper wakes.
  public func set(now: Date) {
    state.update { $0.now = now }
  }

  /// Moves only the wall clock, back if the time is negative: no sleeper wakes.
  public func jump(wallClockBy duration: Duration) {
    state.update { $0.now += duration / .seconds(1) }
  }

  // MARK: - Sleeping

  /// Waits until the clock was advanced by a time; returns at once if the time is not above zero.
  ///
  /// - Throws: `CancellationError` if the task is cancelled meanwhile, or was before.
  public func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    guard duration > .zero else { return }
    let number = state.update { $0.number() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let watchers = state.update { state in
          state.sleepers[number] = Sleeper(
            due: state.uptime + duration, number: number, wake: continuation)
          let satisfied = state.watchers.filter { state.satisfies($0.value.wish) }
          for number in satisfied.keys { state.watchers[number] = nil }
          return satisfied.values.map(\.wake)
        }
        for watcher in watchers { watcher.resume() }
        // The handler may have run before there was a sleeper to wake.
        if Task.isCancelled { wake(number) }
      }
    } onCancel: {
      wake(number)
    }
  }

  /// Wakes a sleeper whose task was cancelled.
  private func wake(_ number: Int) {
    let sleeper = state.update { $0.sleepers.removeValue(forKey: number) }
    sleeper?.wake.resume(throwing: CancellationError())
  }

  // MARK: - Waiting for sleepers

  /// Waits until there are this many sleepers.
  ///
  /// Returns early if the task is cancelled, as is a test that has run out of time.
  public func waitForSleepers(count: Int) async {
    await wait(for: Wish(count: count, span: nil))
  }

  /// Waits until there is a sleeper that is due within a time.
  ///
  /// Returns early if the task is cancelled, as is a test that has run out of time.
  public func waitForSleeper(within span: Duration) async {
    await wait(for: Wish(count: 1, span: span))
  }

  private func wait(for wish: Wish) async {
    let number = state.update { $0.number() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isThere = state.update { state in
          if state.satisfies(wish) { return true }
          state.watchers[number] = (wish, continuation)
          return false
        }
        if isThere { continuation.resume() }
        if Task.isCancelled { giveUp(number) }
      }
    } onCancel: {
      giveUp(number)
    }
  }

  private func giveUp(_ number: Int) {
    let watcher = state.update { $0.watchers.removeValue(forKey: number) }
    watcher?.wake.resume()
  }
}
