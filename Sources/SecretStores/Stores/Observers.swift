import Synchronization

/// The listeners to a store's changes.
package final class Observers: Sendable {
  private struct Listener {
    let continuation: AsyncStream<StoreEvent>.Continuation
    /// The names that it listens to; `nil` for all.
    let keys: Set<StoreKey>?

    func send(_ event: StoreEvent) {
      // A listener that fell behind loses old events, so it must be notified of that.
      if case .dropped = continuation.yield(event), event != .resynchronize {
        continuation.yield(.resynchronize)
      }
    }
  }

  private struct State {
    var nextIdentifier = 0
    var listeners: [Int: Listener] = [:]
    var ofAll: Set<Int> = []
    var byKey: [StoreKey: Set<Int>] = [:]

    /// Returns the listeners to an event, each with the part that it listens to.
    func audience(of event: StoreEvent) -> [(Listener, StoreEvent)] {
      guard case .changed(let keys) = event else {
        return listeners.values.map { ($0, event) }
      }
      var parts: [Int: Set<StoreKey>] = [:]
      if !byKey.isEmpty {
        for key in keys {
          for identifier in byKey[key] ?? [] { parts[identifier, default: []].insert(key) }
        }
      }
      return ofAll.compactMap { listeners[$0] }.map { ($0, event) }
        + parts.compactMap { identifier, keys in
          listeners[identifier].map { ($0, .changed(keys)) }
        }
    }

    mutating func remove(_ identifier: Int) {
      guard let listener = listeners.removeValue(forKey: identifier) else { return }
      ofAll.remove(identifier)
      for key in listener.keys ?? [] {
        byKey[key]?.remove(identifier)
        if byKey[key]?.isEmpty == true { byKey[key] = nil }
      }
    }
  }

  /// More unread events than this are replaced by one `resynchronize`.
  private static let largestBacklog = 1024

  private let state = Mutex(State())

  /// Makes an empty list of listeners.
  package init() {}

  /// Whether there are no listeners.
  package var isEmpty: Bool {
    state.withLock { $0.listeners.isEmpty }
  }

  /// Returns a stream of the events from now on.
  ///
  /// - Parameter keys: The names whose changes are in it; `nil` for all names.
  /// - Returns: The stream.
  package func stream(of keys: Set<StoreKey>? = nil) -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: StoreEvent.self, bufferingPolicy: .bufferingNewest(Self.largestBacklog))
    let identifier = state.withLock { state in
      state.nextIdentifier += 1
      let identifier = state.nextIdentifier
      state.listeners[identifier] = Listener(continuation: continuation, keys: keys)
      if let keys {
        for key in keys { state.byKey[key, default: []].insert(identifier) }
      } else {
        state.ofAll.insert(identifier)
      }
      return identifier
    }
    continuation.onTermination = { [weak self] _ in
      self?.remove(identifier)
    }
    return stream
  }

  /// Sends an event to all who listen to one of its names.
  package func tell(_ event: StoreEvent) {
    let audience = state.withLock { $0.audience(of: event) }
    for (listener, part) in audience { listener.send(part) }
  }

  /// Ends all streams.
  package func finish() {
    let listeners = state.withLock { state in
      defer { state = State(nextIdentifier: state.nextIdentifier) }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.continuation.finish() }
  }

  private func remove(_ identifier: Int) {
    state.withLock { $0.remove(identifier) }
  }

  deinit {
    finish()
  }
}
