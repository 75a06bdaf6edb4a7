import SessionAuthentication
import Synchronization
import SessionToolsTestSupport

/// The events that a source reports while it listens.
final class EventLog: Sendable {
  private struct State {
    var events: [SystemEvent] = []
    var outcome: Result<Void, AuthenticationError>?
  }

  /// Separate from the log, because the source can report events after the end of the log.
  private final class Record: Sendable {
    let state = Mutex(State())
  }

  private let record = Record()
  private let task: Task<Void, Never>

  /// Listens to a source until the end of this object.
  ///
  /// - Parameters:
  ///   - source: The source.
  ///   - receive: Called with each event before it is added to the log.
  init(
    of source: some LifecycleSource, _ receive: @escaping @Sendable (SystemEvent) -> Void = { _ in }
  ) {
    task = Task { [record] in
      let outcome: Result<Void, AuthenticationError>
      do throws(AuthenticationError) {
        try await source.run { event in
          receive(event)
          record.state.withLock { $0.events.append(event) }
        }
        outcome = .success(())
      } catch {
        outcome = .failure(error)
      }
      record.state.withLock { $0.outcome = outcome }
    }
  }

  deinit {
    cancel()
  }

  var events: [SystemEvent] { record.state.withLock { $0.events } }
  /// How listening ended; `nil` while the source listens.
  var outcome: Result<Void, AuthenticationError>? { record.state.withLock { $0.outcome } }

  func cancel() { task.cancel() }

  /// Waits for exactly these events.
  func wait(for events: SystemEvent...) async throws {
    try await SessionToolsTestSupport.wait(until: "\(events), after \(self.events)") {
      self.events.count >= events.count
    }
    guard self.events == events else {
      throw NeverHappened(what: "\(events), but \(self.events) did")
    }
  }
}
