import Synchronization

/// A value that one task waits for and that several may supply: the first one counts.
package final class FirstAnswer<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var continuation: CheckedContinuation<Value, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  /// Sets the value, if none was set before.
  package func give(_ value: Value) {
    let continuation = state.withLock { state in
      guard state.value == nil else { return nil as CheckedContinuation<Value, Never>? }
      state.value = value
      return state.continuation.take()
    }
    continuation?.resume(returning: value)
  }

  /// Whether the value is set.
  package var isGiven: Bool { state.withLock { $0.value != nil } }

  /// Waits for the value; only one task may wait at a time.
  ///
  /// - Parameter cancelled: The value that is set when the task is cancelled.
  /// - Returns: The value that was set first.
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
