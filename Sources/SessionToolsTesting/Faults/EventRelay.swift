import SessionToolsBase

/// Tells the listeners of one store what another one tells.
final class EventRelay: Sendable {
  private let observers = Observers()
  /// The task that listens, while it does.
  private let listening = Shared<(task: Task<Void, Never>, isEnded: Shared<Bool>)?>(nil)

  /// A stream of what is told from now on.
  ///
  /// - Parameter store: The other store, which is listened to from the first stream on.
  /// - Returns: The stream.
  func stream(of store: any SecretStore) -> AsyncStream<StoreEvent> {
    let stream = observers.stream()
    listening.update { listening in
      if let listening, !listening.isEnded.current { return }
      // Asked for before the task starts, so that nothing from now on is missed.
      let (events, isEnded) = (store.changes(), Shared(false))
      let task = Task.detached { [observers] in
        for await event in events { observers.tell(event) }
        isEnded.update { $0 = true }
        observers.finish()
      }
      listening = (task, isEnded)
    }
    return stream
  }

  /// Tells all who listen.
  func tell(_ event: StoreEvent) { observers.tell(event) }

  /// Ends all streams.
  func stop() {
    listening.update { $0?.task.cancel() }
    observers.finish()
  }
}
