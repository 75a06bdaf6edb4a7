import Synchronization

/// One refresh under way, and those who wait for it.
///
/// It belongs to none of them: whoever gives up leaves the others as they are.
final class RefreshFlight: Sendable {
  /// The refreshes that the current task is a part of, by way of their handlers.
  @TaskLocal static var around: [RefreshFlight] = []

  private struct State {
    var task: Task<Void, Never>?
    var result: Result<RefreshEnding, any Error>?
    var nextNumber = 0
    var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
  }

  private enum Entry {
    case ended(Result<RefreshEnding, any Error>)
    case waiting(Int, AsyncStream<Void>)
    case full
  }

  private let state = Mutex(State())

  /// Ends it, and lets all who wait go on.
  func end(with result: Result<RefreshEnding, any Error>) {
    let waiters = state.withLock { state in
      state.result = result
      state.task = nil
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.finish() }
  }

  /// Whether it is over.
  var isEnded: Bool { state.withLock { $0.result != nil } }

  /// What does it.
  func set(_ task: Task<Void, Never>) {
    state.withLock { $0.task = task }
  }

  /// Asks the handler to end, which then has failed.
  func cancel() {
    state.withLock { $0.task }?.cancel()
  }

  /// Waits for the end.
  ///
  /// - Returns: Whether the item is another one since.
  /// - Throws: What it ended with; `timedOut`, `tooManyWaiters`, `reentrant` or
  ///   `CancellationError`.
  func wait(_ policy: RefreshPolicy, by clock: any SessionClock, session: String) async throws
    -> Bool
  {
    if Self.around.contains(where: { $0 === self }) {
      throw SessionError(
        SessionError.reentrant, session: session,
        "the refresh handler asked for a valid item, for which it would wait for ever: "
          + "let it use the item of its request")
    }
    switch enter(policy.largestWaiterCount) {
    case .ended(let result): return try result.get().isNew
    case .full:
      throw SessionError(
        SessionError.tooManyWaiters, session: session,
        "\(policy.largestWaiterCount) tasks wait for the refresh already")
    case .waiting(let number, let signal):
      let timer = clock.after(policy.timeout) { self.leave(number) }
      defer { timer.cancel() }
      // Ends when the task is cancelled as well.
      for await _ in signal {}
      leave(number)
      if let result = state.withLock({ $0.result }) { return try result.get().isNew }
      try Task.checkCancellation()
      throw SessionError(
        SessionError.timedOut, session: session,
        "the refresh has not ended within \(policy.timeout); it goes on")
    }
  }

  private func enter(_ largestCount: Int) -> Entry {
    state.withLock { state in
      if let result = state.result { return .ended(result) }
      guard state.waiters.count < largestCount else { return .full }
      let (signal, continuation) = AsyncStream.makeStream(of: Void.self)
      state.nextNumber += 1
      state.waiters[state.nextNumber] = continuation
      return .waiting(state.nextNumber, signal)
    }
  }

  private func leave(_ number: Int) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.finish()
  }
}

extension RefreshEnding {
  /// Whether the item is another one.
  ///
  /// - Throws: `rejected` when it was removed.
  fileprivate var isNew: Bool {
    get throws {
      switch self {
      case .isNew: true
      case .wasGoodAlready: false
      case .wasRejected(let error, _, _): throw error
      }
    }
  }
}
