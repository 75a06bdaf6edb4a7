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
    var waiters: [Int: FirstAnswer<RefreshWait.End>] = [:]
  }

  private enum Entry {
    case ended
    case waiting(Int, FirstAnswer<RefreshWait.End>)
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
    for waiter in waiters { waiter.give(.ended) }
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

  /// Begins to wait for the end.
  ///
  /// - Throws: `tooManyWaiters` or `reentrant`.
  func wait(
    _ policy: RefreshPolicy, by clock: any SessionClock, session: String
  ) throws -> RefreshWait {
    if Self.around.contains(where: { $0 === self }) {
      throw SessionError(
        SessionError.reentrant, session: session,
        "the refresh handler asked for a valid item, for which it would wait for ever: "
          + "let it use the item of its request")
    }
    switch enter(policy.largestWaiterCount) {
    case .ended: return RefreshWait(flight: self, session: session, timeout: policy.timeout)
    case .full:
      throw SessionError(
        SessionError.tooManyWaiters, session: session,
        "\(policy.largestWaiterCount) tasks wait for the refresh already")
    case .waiting(let number, let end):
      let alarm = clock.alarm(after: policy.timeout) { end.give(.timedOut) }
      return RefreshWait(
        flight: self, session: session, timeout: policy.timeout, end: end, number: number,
        alarm: alarm)
    }
  }

  /// What it ended with, as far as that is known; no more waits for it.
  fileprivate func leave(_ number: Int?) -> Result<RefreshEnding, any Error>? {
    state.withLock { state in
      if let number { state.waiters[number] = nil }
      return state.result
    }
  }

  private func enter(_ largestCount: Int) -> Entry {
    state.withLock { state in
      if state.result != nil { return .ended }
      guard state.waiters.count < largestCount else { return .full }
      let waiter = FirstAnswer<RefreshWait.End>()
      state.nextNumber += 1
      state.waiters[state.nextNumber] = waiter
      return .waiting(state.nextNumber, waiter)
    }
  }
}

/// One who waits for a refresh.
///
/// Small, because it is kept while it waits, and thousands may.
struct RefreshWait: Sendable {
  enum End: Sendable {
    case ended, timedOut, cancelled
  }

  let flight: RefreshFlight
  let session: String
  let timeout: Duration
  /// What is waited for; `nil` when the refresh is over.
  var end: FirstAnswer<End>?
  var number: Int?
  var alarm: Alarm?

  /// Waits for the end.
  ///
  /// - Returns: Whether the item is another one since.
  /// - Throws: What the refresh ended with; `timedOut` or `CancellationError`.
  func isNew() async throws -> Bool {
    try isNew(after: await end?.value(whenCancelled: .cancelled))
  }

  /// Apart, so that each who waits keeps less (see `Session.validItem`).
  @inline(never)
  private func isNew(after end: End?) throws -> Bool {
    alarm?.cancel()
    if let result = flight.leave(number) { return try result.get().isNew }
    if end == .cancelled { throw CancellationError() }
    throw SessionError(
      SessionError.timedOut, session: session,
      "the refresh has not ended within \(timeout); it goes on")
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
