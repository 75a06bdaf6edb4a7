import Synchronization

/// Lets tasks that read the same value at the same time share one read.
///
/// A task gets only the result of a read that began after the task asked for it, so that it sees
/// every change that was made before. The reading itself is left to the caller, because a closure
/// would need memory of each task that waits later.
final class SharedReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What a task is to do that asked for a value.
  enum Turn {
    /// Read, and then hand what was read to `end`.
    case reads(ReadNumber)
    /// Wait for another task's read, and ask again where that is no answer.
    case waits(FirstAnswer<Result<Value, any Error>?>)
  }

  /// How many reads had begun, that one included.
  typealias ReadNumber = Int

  private struct Waiter {
    /// How many reads had begun when the task asked.
    let arrival: ReadNumber
    /// Gives `nil` when the result is too old for this task, or its own task was cancelled.
    let answer: FirstAnswer<Result<Value, any Error>?>
  }

  private struct State {
    var beginCount = 0
    /// The tasks that wait for a read that is under way.
    var waiters: [Key: [Waiter]] = [:]
  }

  private let state = Mutex(State())

  /// How many reads have begun.
  var beginCount: ReadNumber { state.withLock { $0.beginCount } }

  /// What a task is to do that asked when so many reads had begun.
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

  /// Ends a read, with an answer for those who wait for it.
  func end(_ number: ReadNumber, of key: Key, with result: Result<Value, any Error>) {
    let waiters = state.withLock { $0.waiters.removeValue(forKey: key) ?? [] }
    for waiter in waiters {
      // A cancelled task's failure says nothing about the reads of others.
      waiter.answer.give(waiter.arrival < number && !Task.isCancelled ? result : nil)
    }
  }
}
