import SessionToolsBase

/// A relay that passes the events of one store to the listeners of another.
final class EventRelay: Sendable {
  private let observers = Observers()
  /// The task that listens to the other store, while there is one.
  private let listening = Shared<(task: Task<Void, Never>, isEnded: Shared<Bool>)?>(nil)

  /// Returns a stream of the events from now on.
  ///
  /// - Parameter store: The other store, to which the relay listens from the first stream on.
  /// - Returns: The stream.
  func stream(of store: any SecretStore) -> AsyncStream<StoreEvent> {
    let stream = observers.stream()
    listening.update { listening in
      if let listening, !listening.isEnded.current { return }
      // The stream is made before the task starts, so that no event from now on is missed.
      let (events, isEnded) = (store.changes(), Shared(false))
      let task = Task.detached { [observers] in
        for await event in events { observers.report(event) }
        isEnded.update { $0 = true }
        observers.finish()
      }
      listening = (task, isEnded)
    }
    return stream
  }

  /// Sends an event to all listeners.
  func report(_ event: StoreEvent) { observers.report(event) }

  /// Ends all streams.
  func stop() {
    listening.update { $0?.task.cancel() }
    observers.finish()
  }
}
