import Dispatch
import Foundation
import SessionToolsBase

/// Runs a closure in a thread of its own while the task waits.
///
/// A blocking call must not hold one of the few threads of the cooperative pool: the tasks that it
/// waits for may need them.
func onOwnThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  let outcome = Outcome<Result>()
  return try await withCheckedContinuation { continuation in
    let thread = Thread {
      outcome.give(Swift.Result { try body() })
      continuation.resume(returning: outcome)
    }
    thread.stackSize = 1 << 20
    thread.start()
  }.take()
}

/// The result that a thread hands over.
///
/// The lock makes the unchecked conformance true. It is a pthread lock because the thread sanitizer
/// does not see the order that a continuation establishes.
private final class Outcome<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var result: Result<Value, any Error>?

  func give(_ result: Result<Value, any Error>) {
    lock.withLock { self.result = result }
  }

  func take() throws -> Value {
    guard let result = lock.withLock({ result.take() }) else {
      preconditionFailure("it is taken once, after it was given")
    }
    return try result.get()
  }
}

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
