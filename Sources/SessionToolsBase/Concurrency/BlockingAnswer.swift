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
