import Synchronization

/// Calls closures one at a time, in the order in which they were added.
///
/// Whoever wants them called may find another thread at it, which then calls theirs as well; so a
/// closure may add others, and nobody waits for a lock that is held while one is called.
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

  /// Adds one; calls nothing, so that it can be done under the lock that says what comes first.
  func add(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.calls.append(call) }
  }

  /// Calls all there are, unless another thread is at it.
  func run() {
    var calls = state.withLock { $0.isRunning ? [] : $0.take() }
    while !calls.isEmpty {
      for call in calls { call() }
      calls = state.withLock { $0.take() }
    }
  }
}
