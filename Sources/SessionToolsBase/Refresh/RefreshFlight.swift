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
    /// The item to refresh, until it may be another one.
    var subject: SecretBytes?
    /// What is stored, as far as the refresh knows, and the look at the store that it is from.
    var stored: (bytes: SecretBytes, look: Int)?
    var lookCount = 0
    var nextNumber = 0
    var waiters: [Int: FirstAnswer<RefreshWait.End>] = [:]
  }

  private enum Entry {
    case ended
    case waiting(Int, arrival: Int, FirstAnswer<RefreshWait.End>)
    case full
  }

  /// The store object that the item is read from and stored in; `nil` where it is not handed over.
  private let reader: ObjectIdentifier?
  private let state: Mutex<State>

  /// Makes a refresh that has not begun.
  init(reader: ObjectIdentifier?, subject: SecretBytes?) {
    self.reader = reader
    state = Mutex(State(subject: subject))
  }

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

  // MARK: - The item

  /// The item that is being refreshed, for those who would read it from the same store object.
  func subject(for reader: ObjectIdentifier) -> SecretBytes? {
    state.withLock { $0.result == nil && reader == self.reader ? $0.subject : nil }
  }

  /// The item has been changed.
  func forgetSubject() {
    state.withLock { $0.subject = nil }
  }

  /// The refresh is about to read or to store the item.
  ///
  /// - Returns: The number of this look at the store.
  func beginLook() -> Int {
    state.withLock { state in
      state.lookCount += 1
      return state.lookCount
    }
  }

  /// The refresh has read or stored the item.
  func endLook(_ number: Int, with bytes: SecretBytes?) {
    state.withLock { $0.stored = bytes.map { ($0, number) } }
  }

  // MARK: - Waiting

  /// Begins to wait for the end, for one who would read the item from a store object.
  ///
  /// - Throws: `tooManyWaiters` or `reentrant`.
  func wait(
    _ policy: RefreshPolicy, by clock: any SessionClock, session: String,
    reader: ObjectIdentifier?
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
    case .waiting(let number, let arrival, let end):
      let alarm = clock.alarm(after: policy.timeout) { end.give(.timedOut) }
      // What another store object gives says nothing about what this one would.
      let isReader = reader != nil && reader == self.reader
      return RefreshWait(
        flight: self, session: session, timeout: policy.timeout,
        arrival: isReader ? arrival : nil, end: end, number: number, alarm: alarm)
    }
  }

  /// What it ended with, as far as that is known; no more waits for it.
  fileprivate func leave(_ number: Int?) -> Result<RefreshEnding, any Error>? {
    state.withLock { state in
      if let number { state.waiters[number] = nil }
      return state.result
    }
  }

  /// What is stored, for those who have waited since before it was read or stored: later ones may
  /// have seen newer changes.
  fileprivate func stored(since arrival: Int) -> SecretBytes? {
    state.withLock { state in
      state.stored.flatMap { arrival < $0.look ? $0.bytes : nil }
    }
  }

  private func enter(_ largestCount: Int) -> Entry {
    state.withLock { state in
      if state.result != nil { return .ended }
      guard state.waiters.count < largestCount else { return .full }
      let waiter = FirstAnswer<RefreshWait.End>()
      state.nextNumber += 1
      state.waiters[state.nextNumber] = waiter
      return .waiting(state.nextNumber, arrival: state.lookCount, waiter)
    }
  }
}

/// One who waits for a refresh.
///
/// An object, because thousands may wait, and each would have several copies on its way.
final class RefreshWait: Sendable {
  enum End: Sendable {
    case ended, timedOut, cancelled
  }

  private let flight: RefreshFlight
  private let session: String
  private let timeout: Duration
  /// How often the refresh had looked at the store before; `nil` when the item is not handed over.
  private let arrival: Int?
  /// What is waited for; `nil` when the refresh is over.
  private let end: FirstAnswer<End>?
  private let number: Int?
  private let alarm: Alarm?

  init(
    flight: RefreshFlight, session: String, timeout: Duration, arrival: Int? = nil,
    end: FirstAnswer<End>? = nil, number: Int? = nil, alarm: Alarm? = nil
  ) {
    (self.flight, self.session, self.timeout) = (flight, session, timeout)
    (self.arrival, self.end, self.number, self.alarm) = (arrival, end, number, alarm)
  }

  /// Waits for the end.
  ///
  /// - Returns: What the refresh came to.
  /// - Throws: What the refresh ended with; `timedOut` or `CancellationError`.
  func outcome() async throws -> RefreshedItem {
    try outcome(after: await end?.value(whenCancelled: .cancelled))
  }

  /// Apart, so that each who waits keeps less (see `Session.validItem`).
  @inline(never)
  private func outcome(after end: End?) throws -> RefreshedItem {
    alarm?.cancel()
    if let result = flight.leave(number) {
      return RefreshedItem(
        isNew: try result.get().isNew, bytes: arrival.flatMap(flight.stored(since:)))
    }
    if end == .cancelled { throw CancellationError() }
    throw SessionError(
      SessionError.timedOut, session: session,
      "the refresh has not ended within \(timeout); it goes on")
  }
}

/// What a refresh came to, for one who waited for it.
struct RefreshedItem: Sendable {
  /// Whether the item is another one.
  let isNew: Bool
  /// What is stored; `nil` when it has to be read.
  let bytes: SecretBytes?
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
