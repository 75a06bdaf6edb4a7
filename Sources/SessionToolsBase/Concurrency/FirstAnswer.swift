import Synchronization

/// What one task waits for, and what may come from several sides: the first counts.
package final class FirstAnswer<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var continuation: CheckedContinuation<Value, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  /// Gives a value, if none was given before.
  package func give(_ value: Value) {
    let continuation = state.withLock { state in
      guard state.value == nil else { return nil as CheckedContinuation<Value, Never>? }
      state.value = value
      return state.continuation.take()
    }
    continuation?.resume(returning: value)
  }

  /// Whether there is a value.
  package var isGiven: Bool { state.withLock { $0.value != nil } }

  /// Waits for the value; by one task at a time.
  ///
  /// - Parameter cancelled: What is given when the task is cancelled.
  /// - Returns: The value that was given first.
  package func value(whenCancelled cancelled: @autoclosure @Sendable () -> Value) async -> Value {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state in
          if state.value == nil { state.continuation = continuation }
          return state.value
        }
        if let value { continuation.resume(returning: value) }
      }
    } onCancel: {
      give(cancelled())
    }
  }
}
