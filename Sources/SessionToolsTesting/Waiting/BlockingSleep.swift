import Dispatch
import SessionToolsBase

extension SessionClock {
  /// Holds the thread for a time of this clock.
  func block(for duration: Duration) {
    let isOver = DispatchSemaphore(value: 0)
    Task.detached(executorPreference: sleepers) {
      // It is never cancelled; a clock that fails in another way is over as well.
      try? await sleep(for: duration)
      isOver.signal()
    }
    isOver.wait()
  }
}

/// Beside the cooperative pool, whose threads all may be those that are held.
private let sleepers = QueueExecutor("session-tools.slow-store")
