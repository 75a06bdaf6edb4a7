import Synchronization

/// A closure that is called after a time, unless it is cancelled first.
enum Alarm: Sendable {
  /// The alarm has a task of its own.
  case task(Task<Void, Never>)
  /// The alarm is one of those that share a task, under this number.
  case shared(Int)

  /// Prevents the closure from being called, unless the call has begun.
  func cancel() {
    switch self {
    case .task(let task): task.cancel()
    case .shared(let number): SharedAlarms.ofSystem.cancel(number)
    }
  }
}

extension SessionClock {
  /// Calls a closure after a time, unless the alarm is cancelled first.
  ///
  /// The closure must return at once, because others wait for the same thread.
  func alarm(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> Alarm {
    if self is SystemSessionClock {
      .shared(SharedAlarms.ofSystem.add(after: duration, body))
    } else {
      .task(after(duration, body))
    }
  }
}

/// Alarms by the machine's clock, which share one task that sleeps until the first of them is due.
///
/// Thousands of callers may wait for refreshes, each for a limited time: a task for each would take
/// ten times as much memory.
private final class SharedAlarms: Sendable {
  static let ofSystem = SharedAlarms()

  private struct Entry {
    let due: Duration
    let body: @Sendable () -> Void
  }

  private struct State {
    var nextNumber = 0
    var entries: [Int: Entry] = [:]
    /// When the task wakes, possibly for an entry that has been cancelled.
    var wakeTime: Duration?

    /// Returns when a new task must wake, if one is needed.
    mutating func newWakeTime(for due: Duration?) -> Duration? {
      guard let due else { return nil }
      if let wakeTime, wakeTime <= due { return nil }
      wakeTime = due
      return due
    }
  }

  private let clock = SystemSessionClock()
  private let state = Mutex(State())

  /// Calls a closure after a time.
  ///
  /// - Returns: The number by which the alarm is cancelled.
  func add(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> Int {
    let due = clock.uptime + duration
    let (number, wakeTime) = state.withLock { state in
      state.nextNumber += 1
      state.entries[state.nextNumber] = Entry(due: due, body: body)
      return (state.nextNumber, state.newWakeTime(for: due))
    }
    if let wakeTime { wake(at: wakeTime) }
    return number
  }

  func cancel(_ number: Int) {
    // Released outside the lock, since it may hold the last reference to an object.
    _ = state.withLock { $0.entries.removeValue(forKey: number) }
  }

  private func wake(at time: Duration) {
    Task.detached {
      // Fails only when the task is cancelled, and this one never is.
      try? await self.clock.sleep(for: max(.zero, time - self.clock.uptime))
      self.ring()
    }
  }

  /// Calls the closures that are due, and starts a task for the next.
  private func ring() {
    let now = clock.uptime
    let (due, wakeTime) = state.withLock { state in
      if let wakeTime = state.wakeTime, wakeTime <= now { state.wakeTime = nil }
      let due = state.entries.filter { $0.value.due <= now }
      for number in due.keys { state.entries[number] = nil }
      return (due.values.map(\.body), state.newWakeTime(for: state.entries.values.map(\.due).min()))
    }
    for body in due { body() }
    if let wakeTime { wake(at: wakeTime) }
  }
}
