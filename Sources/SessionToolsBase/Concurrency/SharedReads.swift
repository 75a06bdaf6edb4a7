import Synchronization

/// Lets tasks that read the same value at the same time share one read.
///
/// A task gets only the result of a read that began after the task asked for it, so that it sees
/// every change made before. The caller does the reading, because a closure would need memory for
/// each task that waits later.
final class SharedReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The next step of a task that asked for a value.
  enum Turn {
    /// Read, and then pass the result to `end`.
    case reads(ReadNumber)
    /// Wait for another task's read, and ask again if its result is `nil`.
    case waits(FirstAnswer<Result<Value, any Error>?>)
  }

  /// The number of reads that had begun, including this one.
  typealias ReadNumber = Int

  private struct Waiter {
    /// The number of reads that had begun when the task asked.
    let arrival: ReadNumber
    /// Receives `nil` when the result is too old for this task, or when this task or the reading
    /// task was cancelled.
    let answer: FirstAnswer<Result<Value, any Error>?>
  }

  private struct State {
    var beginCount = 0
    /// The tasks that wait for a read under way.
    var waiters: [Key: [Waiter]] = [:]
  }

  private let state = Mutex(State())

  /// The number of reads that have begun.
  var beginCount: ReadNumber { state.withLock { $0.beginCount } }

  /// Returns the next step of a task that asked when this number of reads had begun.
  func turn(of key: Key, since arrival: ReadNumber) -> Turn {
    state.withLock { state in
      guard state.waiters[key] != nil else {
        state.waiters[key] = []
        state.beginCount += 1
        return .reads(state.beginCount)
      }
      let answer = FirstAnswer<Result<Value, any Error>?>()
      state.waiters[key]?.append(Waiter(arrival: arrival, answer: answer))
      return .waits(answer)
    }
  }

  /// Ends a read, with a result for its waiters.
  func end(_ number: ReadNumber, of key: Key, with result: Result<Value, any Error>) {
    let waiters = state.withLock { $0.waiters.removeValue(forKey: key) ?? [] }
    for waiter in waiters {
      // A cancelled task's failure says nothing about the reads of others.
      waiter.answer.give(waiter.arrival < number && !Task.isCancelled ? result : nil)
    }
  }
}
