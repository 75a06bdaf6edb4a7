import Synchronization

/// A queue of closures, which are called one at a time in the order in which they were added.
///
/// While another thread is running closures, that thread also runs the new ones. So a closure may
/// add others, and no lock is held while a closure runs.
final class OrderedCalls: Sendable {
  private struct State {
    var calls: [@Sendable () -> Void] = []
    var isRunning = false

    mutating func take() -> [@Sendable () -> Void] {
      isRunning = !calls.isEmpty
      defer { calls = [] }
      return calls
    }
  }

  private let state = Mutex(State())

  /// Adds a closure without calling it, so this may be done under the lock that defines the order.
  func add(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.calls.append(call) }
  }

  /// Calls all added closures, unless another thread is doing so.
  func run() {
    var calls = state.withLock { $0.isRunning ? [] : $0.take() }
    while !calls.isEmpty {
      for call in calls { call() }
      calls = state.withLock { $0.take() }
    }
  }
}
