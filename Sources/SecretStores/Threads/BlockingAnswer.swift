import Dispatch
import Synchronization

/// A result that one thread waits for.
package final class BlockingAnswer<Value: Sendable, Failure: Error>: Sendable {
  private let result = Mutex<Result<Value, Failure>?>(nil)
  private let isGiven = DispatchSemaphore(value: 0)

  package init() {}

  package func give(_ value: Result<Value, Failure>) {
    result.withLock { $0 = value }
    isGiven.signal()
  }

  package func wait() -> Result<Value, Failure> {
    isGiven.wait()
    guard let value = result.withLock({ $0 }) else {
      preconditionFailure("the semaphore is signalled only after a result was given")
    }
    return value
  }
}

extension BlockingAnswer {
  /// Runs an asynchronous operation, blocking the thread until it has ended.
  ///
  /// - Throws: What the operation throws.
  package static func wait(
    for operation: @escaping @Sendable () async throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let answer = BlockingAnswer()
    Task.detached(executorPreference: waitingExecutor) {
      do throws(Failure) {
        answer.give(.success(try await operation()))
      } catch {
        answer.give(.failure(error))
      }
    }
    return try answer.wait().get()
  }
}

/// The executor of operations that blocking calls wait for.
///
/// On the cooperative pool they might never run, because a program that makes such calls from tasks
/// can block all threads of the pool.
private let waitingExecutor = BlockingExecutor(maximumThreadCount: 1)
