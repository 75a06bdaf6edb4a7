package import Dispatch
import Synchronization

/// Exclusive access to names within this process: first come, first served, for tasks and threads
/// alike.
package final class NameLocks<Key: Hashable & Sendable>: Sendable {
  /// The waiters for each name that is held.
  private let held = Mutex<[Key: [Waiter]]>([:])
  private let store: String

  /// Makes locks without holders.
  ///
  /// - Parameter store: The store that errors name.
  package init(store: String) {
    self.store = store
  }

  /// Takes a name, blocking the thread until it is free.
  ///
  /// - Throws: `timedOut`.
  package func lock(_ name: Key, timeout: Duration) throws(StoreError) {
    let isResolved = DispatchSemaphore(value: 0)
    let waiter = Waiter { isResolved.signal() }
    if !isTaken(name, by: waiter) {
      let time = ObservedTime()
      defer { time.reportLockWait(of: store) }
      // Waits without a timer: its block would need a thread, and the waiters may hold all of them.
      if isResolved.wait(timeout: .now() + timeout.dispatchInterval) == .timedOut {
        resolve(waiter, for: name, as: .timedOut)
      }
    }
    try check(waiter)
  }

  /// Takes a name, suspending the task until it is free.
  ///
  /// - Throws: `timedOut`, or `cancelled` when the task was cancelled while waiting.
  package func lock(_ name: Key, timeout: Duration) async throws(StoreError) {
    let (signal, signaller) = AsyncStream.makeStream(of: Void.self)
    let waiter = Waiter { signaller.finish() }
    if isTaken(name, by: waiter) { return }
    let time = ObservedTime()
    defer { time.reportLockWait(of: store) }
    let interval = timeout.dispatchInterval
    // A timer that never fires would keep the waiter alive forever.
    if interval != .never {
      timers.asyncAfter(deadline: .now() + interval) {
        self.resolve(waiter, for: name, as: .timedOut)
      }
    }
    await withTaskCancellationHandler {
      for await _ in signal {}
    } onCancel: {
      resolve(waiter, for: name, as: .cancelled)
    }
    // A cancelled task may get here before its handler did: the waiter must not stay queued.
    resolve(waiter, for: name, as: .cancelled)
    try check(waiter)
  }

  /// Passes a name to the waiter that has waited longest.
  package func unlock(_ name: Key) {
    let next = held.withLock { held -> Waiter? in
      guard var waiters = held[name], !waiters.isEmpty else {
        held[name] = nil
        return nil
      }
      let next = waiters.removeFirst()
      held[name] = waiters
      next.outcome.store(.granted, ordering: .releasing)
      return next
    }
    next?.wake()
  }

  /// Returns how many wait for a name.
  package func waiterCount(for name: Key) -> Int {
    held.withLock { $0[name]?.count ?? 0 }
  }

  /// Takes a name that is free, or appends the waiter to its queue; returns whether it was taken.
  private func isTaken(_ name: Key, by waiter: Waiter) -> Bool {
    held.withLock { held in
      guard held[name] != nil else {
        held[name] = []
        waiter.outcome.store(.granted, ordering: .releasing)
        return true
      }
      held[name, default: []].append(waiter)
      return false
    }
  }

  /// Removes a waiter from its queue; a waiter that already has the name keeps it.
  private func resolve(_ waiter: Waiter, for name: Key, as outcome: Outcome) {
    let isWaiting = held.withLock { held in
      guard let position = held[name]?.firstIndex(where: { $0 === waiter }) else { return false }
      held[name]?.remove(at: position)
      waiter.outcome.store(outcome, ordering: .releasing)
      return true
    }
    if isWaiting { waiter.wake() }
  }

  private func check(_ waiter: Waiter) throws(StoreError) {
    switch waiter.outcome.load(ordering: .acquiring) {
    case .granted: return
    case .timedOut:
      throw StoreError(
        .timedOut, store: store,
        reason: "exclusive access to a name was not available in time")
    case .cancelled, .waiting:
      throw StoreError(
        .cancelled, store: store,
        reason: "the task was cancelled while it waited for exclusive access to a name")
    }
  }
}

/// Serial, so that it has its own thread however many others are blocked.
private let timers = DispatchQueue(label: "session-tools.name-locks")

private enum Outcome: UInt8, AtomicRepresentable {
  case waiting, granted, timedOut, cancelled
}

private final class Waiter: Sendable {
  let outcome = Atomic(Outcome.waiting)
  let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) {
    self.wake = wake
  }
}

extension Duration {
  /// The same length for Dispatch; anything beyond 292 years is forever, below zero is zero.
  package var dispatchInterval: DispatchTimeInterval {
    guard self > .zero else { return .nanoseconds(0) }
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let nanoseconds = attoseconds / 1_000_000_000
    guard !overflow, product <= Int64.max - nanoseconds else { return .never }
    return .nanoseconds(Int(product + nanoseconds))
  }
}
