/// Needs a Sendable type: the task that reads it keeps the last item to compare the next with.
extension Session where T: Sendable {
  /// The state now, then the state after every change, whoever made it.
  ///
  /// ```swift
  /// for await state in session.states {
  ///   render(state)
  /// }
  /// ```
  ///
  /// Changes of other processes are in it where the container's store sees them. A listener
  /// that falls behind gets the newest state and misses those between, so that at most one
  /// unread item is held in memory; the same state is not told twice in a row where items are
  /// `Equatable`. Each call gives a stream of its own, which keeps the session alive and ends
  /// when its task is cancelled or the container's stream ends.
  public var states: AsyncStream<SessionState<T>> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: SessionState<T>.self, bufferingPolicy: .bufferingNewest(1))
    // Asked for before the first read, so that no change falls between the two.
    let changes = container.itemChanges(forIdentifier: storageIdentifier)
    let reading = Task {
      var told = await self.currentState()
      continuation.yield(told)
      for await _ in changes {
        let state = await self.currentState()
        if state.tellsTheSame(as: told) { continue }
        told = state
        continuation.yield(state)
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}
