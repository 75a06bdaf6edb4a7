import Synchronization

/// The listeners to a store's changes.
package final class Observers: Sendable {
  private struct State {
    var nextIdentifier = 0
    var continuations: [Int: AsyncStream<StoreEvent>.Continuation] = [:]
  }

  /// More unread events than this are replaced by one `resynchronize`.
  private static let largestBacklog = 1024

  private let state = Mutex(State())

  /// Makes an empty list of listeners.
  package init() {}

  /// Whether there are no listeners.
  package var isEmpty: Bool {
    state.withLock { $0.continuations.isEmpty }
  }

  /// Returns a stream of the events from now on.
  package func stream() -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: StoreEvent.self, bufferingPolicy: .bufferingNewest(Self.largestBacklog))
    let identifier = state.withLock { state in
      state.nextIdentifier += 1
      state.continuations[state.nextIdentifier] = continuation
      return state.nextIdentifier
    }
    continuation.onTermination = { [weak self] _ in
      self?.remove(identifier)
    }
    return stream
  }

  /// Sends an event to all listeners.
  package func tell(_ event: StoreEvent) {
    let continuations = state.withLock { Array($0.continuations.values) }
    for continuation in continuations {
      // A listener that fell behind loses old events, so it must be notified of that.
      if case .dropped = continuation.yield(event), event != .resynchronize {
        continuation.yield(.resynchronize)
      }
    }
  }

  /// Ends all streams.
  package func finish() {
    let continuations = state.withLock { state in
      defer { state.continuations = [:] }
      return Array(state.continuations.values)
    }
    for continuation in continuations {
      continuation.finish()
    }
  }

  private func remove(_ identifier: Int) {
    state.withLock { $0.continuations[identifier] = nil }
  }

  deinit {
    finish()
  }
}
