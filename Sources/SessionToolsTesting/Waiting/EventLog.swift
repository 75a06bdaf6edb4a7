import Synchronization

/// The events that a stream has delivered so far.
final class EventLog<Event: Sendable>: Sendable {
  private struct State {
    var events: [Event] = []
    var isEnded = false
    var reading: Task<Void, Never>?
  }

  private let state: Shared<State>

  /// Begins to read a stream in a task of its own.
  init(_ stream: AsyncStream<Event>) {
    let state = Shared(State())
    self.state = state
    let reading = Task.detached {
      for await event in stream { state.update { $0.events.append(event) } }
      state.update { $0.isEnded = true }
    }
    state.update { $0.reading = reading }
  }

  deinit {
    stop()
  }

  /// Whether the stream has ended.
  var isEnded: Bool { state.update { $0.isEnded } }

  /// Returns the events since the last call.
  func take() -> [Event] {
    state.update { state in
      defer { state.events = [] }
      return state.events
    }
  }

  /// Cancels the task that reads.
  func stop() {
    state.update { $0.reading }?.cancel()
  }
}

/// A value that several tasks and threads change.
final class Shared<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) {
    self.value = Mutex(value)
  }

  var current: Value { value.withLock { $0 } }

  func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { value in body(&value) }
  }
}
