import SecretStores
/// The items must be Sendable, because the reading task keeps the last one to compare with the
/// next.
extension Session where T: Sendable {
  /// The current state, followed by the state after every change.
  ///
  /// ```swift
  /// for await state in session.states {
  ///   render(state)
  /// }
  /// ```
  ///
  /// Changes by other processes are included where the container's store sees them. While the state
  /// is `unavailable` it is polled with growing pauses of up to 15 s, so that the unlocking of a
  /// store that cannot report it is also noticed. A listener that falls behind gets the newest
  /// state and misses those between, so that at most one unread item is held in memory; the same
  /// state is not sent twice in a row where items are `Equatable`. Each access makes a new stream,
  /// which keeps the session alive and ends when its task is cancelled or the container's stream
  /// ends.
  public var states: AsyncStream<SessionState<T>> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: SessionState<T>.self, bufferingPolicy: .bufferingNewest(1))
    // Requested before the first read, so that no change falls between the two.
    let changes = container.itemChanges(forIdentifier: storageIdentifier)
    let clock = refresher?.clock ?? SystemSessionClock()
    let reading = Task {
      let (occasions, occasion) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let relaying = Task {
        for await _ in changes { occasion.yield() }
        occasion.finish()
      }
      defer { relaying.cancel() }
      var reported = await self.currentState()
      continuation.yield(reported)
      var recheck = Recheck(occasion, clock: clock)
      recheck.plan(ifUnavailable: reported.isUnavailable)
      for await _ in occasions {
        let state = await self.currentState()
        recheck.plan(ifUnavailable: state.isUnavailable)
        if state.reportsTheSame(as: reported) { continue }
        reported = state
        continuation.yield(state)
      }
      recheck.cancel()
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}
