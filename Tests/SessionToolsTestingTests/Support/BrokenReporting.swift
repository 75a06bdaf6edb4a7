import SessionToolsBase

extension BrokenStore {
  func report(_ changes: [StoreChange]) {
    switch defect {
    case .reportsNoRemovals:
      let put = changes.filter { $0.value != nil }
      if !put.isEmpty { observers.report(.changed(Set(put.map(\.name)))) }
    case .reportsTheFirstOfAList: observers.report(.changed([changes[0].name]))
    case .reportsOwnChanges:
      observers.report(.changed(Set(changes.map(\.name))))
    default: break
    }
  }

  func changes() -> AsyncStream<StoreEvent> {
    switch defect {
    case .reportsNothing: return observers.stream()
    case .reportsNoRemovals, .reportsTheFirstOfAList, .reportsOwnChanges: return observers.stream()
    case .reportsOneListener:
      observers.finish()
      return observers.stream()
    case .endsAllListeners:
      let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
      let relay = Task.detached { [events = observers.stream()] in
        for await event in events { continuation.yield(event) }
        continuation.finish()
      }
      continuation.onTermination = { [weak self] _ in
        relay.cancel()
        self?.observers.finish()
      }
      return stream
    case .reportsTheNewest: return relayed(.bufferingNewest(1))
    case .ignoresCancelledListeners: return deafStream()
    case .outlivesItsStore:
      let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
      world.listeners.update { $0.append(continuation) }
      let events = kept.update { kept in
        kept.append(world)
        return world.memory.changes()
      }
      Task.detached { for await event in events { continuation.yield(event) } }
      let own = observers.stream()
      Task.detached { for await event in own { continuation.yield(event) } }
      return stream
    default: return relayed(.unbounded)
    }
  }

  func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    guard defect != .reportsOtherNames else { return changes() }
    let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
    let reading = Task { [events = changes()] in
      for await event in events where names.contains(where: event.concerns) {
        continuation.yield(event)
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }

  /// Returns a stream of the memory's events and those of this object.
  private func relayed(
    _ policy: AsyncStream<StoreEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<StoreEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: StoreEvent.self, bufferingPolicy: policy)
    let (events, own) = (world.memory.changes(), observers.stream())
    let relays = [
      Task.detached { for await event in events { continuation.yield(event) } },
      Task.detached {
        for await event in own { continuation.yield(event) }
        continuation.finish()
      },
    ]
    continuation.onTermination = { _ in for relay in relays { relay.cancel() } }
    return stream
  }

  /// Returns a stream that waits for its next event even if the task is cancelled.
  private func deafStream() -> AsyncStream<StoreEvent> {
    let (events, reported) = (relayed(.unbounded), Reported())
    Task.detached {
      for await event in events { reported.add(event) }
      reported.end()
    }
    return AsyncStream(unfolding: {
      // This task is never cancelled.
      await Task.detached {
        while true {
          switch reported.next() {
          case .event(let event): return event
          case .end: return nil
          case .nothing: try? await Task.sleep(for: .milliseconds(1))
          }
        }
      }.value
    })
  }
}

/// The worlds that are kept for the whole test run.
private let kept = Shared<[BrokenWorld]>([])

/// Events that are still to be read.
private final class Reported: Sendable {
  enum Next {
    case event(StoreEvent), nothing, end
  }

  private let state = Shared((events: [StoreEvent](), isEnded: false))

  func add(_ event: StoreEvent) { state.update { $0.events.append(event) } }

  func end() { state.update { $0.isEnded = true } }

  func next() -> Next {
    state.update { state in
      if !state.events.isEmpty { return .event(state.events.removeFirst()) }
      return state.isEnded ? .end : .nothing
    }
  }
}
