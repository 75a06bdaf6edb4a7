import Dispatch
import SessionToolsBase

extension SessionClock {
  /// Blocks the thread for a time of this clock.
  func block(for duration: Duration) {
    let isOver = DispatchSemaphore(value: 0)
    Task.detached(executorPreference: sleepers) {
      // The task is never cancelled; if the clock fails for another reason, the wait ends too.
      try? await sleep(for: duration)
      isOver.signal()
    }
    isOver.wait()
  }
}

/// A thread outside of the cooperative pool, all of whose threads may be blocked.
private let sleepers = BlockingExecutor(maximumThreadCount: 1)
