import Foundation

/// Runs a closure in a thread of its own while the task waits.
///
/// What blocks must not hold one of the few threads of the cooperative pool: those for whom it
/// waits may need them.
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

/// What a thread hands over.
///
/// Unchecked, and true because of the lock: one of pthreads, since the thread sanitizer does not
/// see the order that a continuation makes.
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
