import Synchronization

/// A closure that is called at a time, unless it is cancelled before.
enum Alarm: Sendable {
  /// By a task of its own.
  case task(Task<Void, Never>)
  /// By the alarms that share a task, under this number.
  case shared(Int)

  /// Has the closure not called, unless that has begun.
  func cancel() {
    switch self {
    case .task(let task): task.cancel()
    case .shared(let number): SharedAlarms.ofSystem.cancel(number)
    }
  }
}

extension SessionClock {
  /// Calls a closure after a time, unless the alarm is cancelled before.
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
/// Thousands may wait for refreshes, each for a limited time: a task for each would take ten times as
/// much memory.
private final class SharedAlarms: Sendable {
  static let ofSystem = SharedAlarms()

  private struct Entry {
    let due: Duration
    let body: @Sendable () -> Void
  }

  private struct State {
    var nextNumber = 0
    var entries: [Int: Entry] = [:]
    /// When the task wakes; an entry that was cancelled may be the reason.
    var wakeTime: Duration?

    /// When a new task has to wake, if one is needed.
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
  /// - Returns: The number by which that is cancelled.
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
    // Released without the lock, since it may hold the last reference to something.
    _ = state.withLock { $0.entries.removeValue(forKey: number) }
  }

  private func wake(at time: Duration) {
    Task.detached {
      // Fails only when the task is cancelled, and this one never is.
      try? await self.clock.sleep(for: max(.zero, time - self.clock.uptime))
      self.ring()
    }
  }

  /// Calls what is due, and has a task wake for the next.
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
