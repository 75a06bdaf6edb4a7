import Synchronization

/// Those who listen to a store's changes.
package final class Observers: Sendable {
  private struct State {
    var nextIdentifier = 0
    var continuations: [Int: AsyncStream<StoreEvent>.Continuation] = [:]
  }

  /// More than this many unread events are answered with one `resynchronize`.
  private static let largestBacklog = 1024

  private let state = Mutex(State())

  /// Makes a store's list of listeners, empty.
  package init() {}

  /// Whether anyone listens.
  package var isEmpty: Bool {
    state.withLock { $0.continuations.isEmpty }
  }

  /// A stream of what is told from now on.
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

  /// Tells all who listen.
  package func tell(_ event: StoreEvent) {
    let continuations = state.withLock { Array($0.continuations.values) }
    for continuation in continuations {
      // A listener who fell behind loses old events, so it must hear that it did.
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
