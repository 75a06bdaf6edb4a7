import Synchronization

/// The listeners to a store's changes.
package final class Observers: Sendable {
  private struct Listener {
    let continuation: AsyncStream<StoreEvent>.Continuation
    /// The names that it listens to; `nil` for all.
    let names: Set<ItemName>?

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
    var byName: [ItemName: Set<Int>] = [:]

    /// Returns the listeners to an event, each with the part that it listens to.
    func audience(of event: StoreEvent) -> [(Listener, StoreEvent)] {
      guard case .changed(let names) = event else {
        return listeners.values.map { ($0, event) }
      }
      var parts: [Int: Set<ItemName>] = [:]
      if !byName.isEmpty {
        for name in names {
          for identifier in byName[name] ?? [] { parts[identifier, default: []].insert(name) }
        }
      }
      return ofAll.compactMap { listeners[$0] }.map { ($0, event) }
        + parts.compactMap { identifier, names in
          listeners[identifier].map { ($0, .changed(names)) }
        }
    }

    mutating func remove(_ identifier: Int) {
      guard let listener = listeners.removeValue(forKey: identifier) else { return }
      ofAll.remove(identifier)
      for name in listener.names ?? [] {
        byName[name]?.remove(identifier)
        if byName[name]?.isEmpty == true { byName[name] = nil }
      }
    }
  }

  /// More unread events than this are replaced by one `resynchronize`.
  private static let maximumBacklog = 1024

  private let state = Mutex(State())

  /// Makes an empty list of listeners.
  package init() {}

  /// Whether there are no listeners.
  package var isEmpty: Bool {
    state.withLock { $0.listeners.isEmpty }
  }

  /// Returns a stream of the events from now on.
  ///
  /// - Parameter names: The names whose changes are in it; `nil` for all names.
  /// - Returns: The stream.
  package func stream(of names: Set<ItemName>? = nil) -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: StoreEvent.self, bufferingPolicy: .bufferingNewest(Self.maximumBacklog))
    let identifier = state.withLock { state in
      state.nextIdentifier += 1
      let identifier = state.nextIdentifier
      state.listeners[identifier] = Listener(continuation: continuation, names: names)
      if let names {
        for name in names { state.byName[name, default: []].insert(identifier) }
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
  package func report(_ event: StoreEvent) {
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
