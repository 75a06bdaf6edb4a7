import Synchronization

/// One refresh under way, and its waiters.
///
/// It belongs to none of its waiters: one that gives up does not affect the others.
final class RefreshFlight: Sendable {
  /// The refreshes that the current task is part of, through their handlers.
  @TaskLocal static var around: [RefreshFlight] = []

  private struct State {
    var task: Task<Void, Never>?
    var result: Result<RefreshEnding, any Error>?
    /// The item to refresh, until it may have been replaced.
    var subject: SecretBytes?
    /// The stored item, as known to the refresh, and the number of the store access that found it.
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

  /// Ends the refresh, and resumes all waiters.
  func end(with result: Result<RefreshEnding, any Error>) {
    let waiters = state.withLock { state in
      state.result = result
      state.task = nil
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.give(.ended) }
  }

  /// Whether the refresh has ended.
  var isEnded: Bool { state.withLock { $0.result != nil } }

  /// Sets the task that makes the refresh.
  func set(_ task: Task<Void, Never>) {
    state.withLock { $0.task = task }
  }

  /// Asks the handler to end by cancelling its task; the try then counts as failed.
  func cancel() {
    state.withLock { $0.task }?.cancel()
  }

  // MARK: - The item

  /// Returns the item being refreshed, for callers that would read it from the same store object.
  func subject(for reader: ObjectIdentifier) -> SecretBytes? {
    state.withLock { $0.result == nil && reader == self.reader ? $0.subject : nil }
  }

  /// Records that the item was changed.
  func forgetSubject() {
    state.withLock { $0.subject = nil }
  }

  /// Records that the refresh is about to read or store the item.
  ///
  /// - Returns: The number of this store access.
  func beginLook() -> Int {
    state.withLock { state in
      state.lookCount += 1
      return state.lookCount
    }
  }

  /// Records that the refresh has read or stored the item.
  func endLook(_ number: Int, with bytes: SecretBytes?) {
    state.withLock { $0.stored = bytes.map { ($0, number) } }
  }

  // MARK: - Waiting

  /// Begins to wait for the end, for a caller that would read the item from a store object.
  ///
  /// - Throws: `tooManyWaiters` or `reentrant`.
  func wait(
    _ policy: RefreshPolicy, by clock: any SessionClock, session: String,
    reader: ObjectIdentifier?
  ) throws -> RefreshWait {
    if Self.around.contains(where: { $0 === self }) {
      throw SessionError(
        .reentrant, session: session,
        "the refresh handler asked for a valid item, and would wait forever: "
          + "use the item of its request")
    }
    switch enter(policy.largestWaiterCount) {
    case .ended: return RefreshWait(flight: self, session: session, timeout: policy.timeout)
    case .full:
      throw SessionError(
        .tooManyWaiters, session: session,
        "\(policy.largestWaiterCount) tasks are already waiting for the refresh")
    case .waiting(let number, let arrival, let end):
      let alarm = clock.alarm(after: policy.timeout) { end.give(.timedOut) }
      // The item of another store object says nothing about that of this one.
      let isReader = reader != nil && reader == self.reader
      return RefreshWait(
        flight: self, session: session, timeout: policy.timeout,
        arrival: isReader ? arrival : nil, end: end, number: number, alarm: alarm)
    }
  }

  /// Removes a waiter, and returns the refresh's result if it has ended.
  fileprivate func leave(_ number: Int?) -> Result<RefreshEnding, any Error>? {
    state.withLock { state in
      if let number { state.waiters[number] = nil }
      return state.result
    }
  }

  /// Returns the stored item, for waiters that came before it was read or stored: later ones may
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

/// A waiter for a refresh.
///
/// A class, because thousands may wait, and a structure would be copied several times for each.
final class RefreshWait: Sendable {
  enum End: Sendable {
    case ended, timedOut, cancelled
  }

  private let flight: RefreshFlight
  private let session: String
  private let timeout: Duration
  /// The number of store accesses before this wait; `nil` when the item is not handed over.
  private let arrival: Int?
  /// The end that it waits for; `nil` when the refresh is over.
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
  /// - Returns: The result of the refresh.
  /// - Throws: The error that the refresh ended with; `timedOut` or `CancellationError`.
  func outcome() async throws -> RefreshedItem {
    try outcome(after: await end?.value(whenCancelled: .cancelled))
  }

  /// Returns the outcome; a separate function, so that each waiter holds less memory (see
  /// `Session.validItem`).
  @inline(never)
  private func outcome(after end: End?) throws -> RefreshedItem {
    alarm?.cancel()
    if let result = flight.leave(number) {
      return RefreshedItem(
        isNew: try result.get().isNew, bytes: arrival.flatMap(flight.stored(since:)))
    }
    if end == .cancelled { throw CancellationError() }
    throw SessionError(
      .timedOut, session: session,
      "the refresh has not ended within \(timeout); it continues")
  }
}

/// The result of a refresh, for a waiter.
struct RefreshedItem: Sendable {
  /// Whether the item is a new one.
  let isNew: Bool
  /// The stored item; `nil` when it must be read.
  let bytes: SecretBytes?
}

extension RefreshEnding {
  /// Whether the item is a new one.
  ///
  /// - Throws: `rejected` when it was removed.
  fileprivate var isNew: Bool {
    get throws {
      switch self {
      case .isNew: true
      case .wasValidAlready: false
      case .wasRejected(let error, _, _): throw error
      }
    }
  }
}
