import Dispatch
import Synchronization

/// Waits for an asynchronous operation; for the main thread, on which no task runs.
///
/// - Throws: What the operation throws.
func waiting<Value: Sendable>(
  for operation: @escaping @Sendable () async throws -> Value
) throws -> Value {
  let answer = Answer<Value>()
  Task {
    do {
      answer.give(.success(try await operation()))
    } catch {
      answer.give(.failure(error))
    }
  }
  return try answer.wait().get()
}

/// A result that the main thread waits for.
private final class Answer<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let isGiven = DispatchSemaphore(value: 0)

  func give(_ value: Result<Value, any Error>) {
    result.withLock { $0 = value }
    isGiven.signal()
  }

  func wait() -> Result<Value, any Error> {
    isGiven.wait()
    guard let value = result.withLock({ $0 }) else {
      preconditionFailure("the semaphore is signalled only after a result was given")
    }
    return value
  }
}
