import SecretStores
import Foundation
import Synchronization

/// What all sessions of one item in this process share, however many objects they are: the one
/// refresh under way, how often it failed, what is known of time, and how the last user left.
final class SharedSessionState: Sendable {
  /// Which item of which container.
  enum Identity: Hashable {
    /// An item of a store that has an identity.
    case store(String, ItemName)
    /// An item of a store that is an object without an identity.
    case object(ObjectIdentifier, ItemName)
    /// An item of a container that is an object and not on a store.
    case container(ObjectIdentifier, String)
  }

  private struct State {
    /// The refreshes by owner: each session with a handler of iOS-SessionTools has its own, since
    /// that handler may do anything, and all others share one.
    var flights: [ObjectIdentifier?: RefreshFlight] = [:]
    var limiter = RefreshLimiter()
    var judge = ExpiryJudge()
    var unsaved: (any UnsavedItem)?
    var unsavedCount = 0
    var reason = SignOutReason<any Error>.unknown
    var changes: ContainerChanges?
  }

  private let state = Mutex(State())

  /// Changes that sessions make where there is no store; created when first needed.
  var changes: ContainerChanges {
    state.withLock { state in
      let changes = state.changes ?? ContainerChanges()
      state.changes = changes
      return changes
    }
  }

  // MARK: - The one refresh

  /// Returns the refresh under way, or this one, which the caller begins once it has joined.
  ///
  /// When it has ended, the result is announced before its waiters continue.
  ///
  /// - Parameters:
  ///   - refresh: The refresh to begin if no refresh is under way.
  ///   - reader: The store object that the new item is stored in; `nil` where it is not handed
  ///     over to waiters.
  /// - Returns: The refresh to wait for, and what begins it if it is this one: others may wait
  ///   already, so it must be called.
  func flight(
    _ refresh: any RefreshWork, reader: ObjectIdentifier?
  ) -> (RefreshFlight, begin: (() -> Void)?) {
    let (flight, isNew) = state.withLock { state in
      if let flight = state.flights[refresh.owner] { return (flight, false) }
      let flight = RefreshFlight(reader: reader)
      state.flights[refresh.owner] = flight
      return (flight, true)
    }
    return (flight, isNew ? { self.begin(flight, refresh) } : nil)
  }

  private func begin(_ flight: RefreshFlight, _ refresh: any RefreshWork) {
    // Another refresh waits for this one through its handler, and holds a slot: such refreshes
    // could hold all slots.
    let around = RefreshFlight.around.filter { !$0.isEnded }
    guard around.isEmpty else {
      return begin(flight, refresh, around: around, in: nil)
    }
    RefreshSlots.shared.take(of: refresh.maximumConcurrentCount) { slot in
      switch slot {
      case .success(let slot): self.begin(flight, refresh, around: [], in: slot)
      case .failure: self.end(flight, of: refresh.owner, with: .failure(refresh.endOfProcess))
      }
    }
  }

  private func begin(
    _ flight: RefreshFlight, _ refresh: any RefreshWork, around: [RefreshFlight],
    in slot: RefreshSlot?
  ) {
    // Detached: the end of another session's refresh may begin this one, and the task-local values
    // there belong to another request and perhaps another user.
    flight.begin {
      Task.detached(executorPreference: refreshThreads) {
        let time = ObservedTime()
        SessionEvent.report(.refreshBegan(session: refresh.reported))
        let result: Result<RefreshEnding, any Error>
        do {
          let ending = try await RefreshFlight.$around.withValue(around + [flight]) {
            try await refresh.run(in: slot)
          }
          result = .success(ending)
        } catch {
          result = .failure(error)
        }
        time.report {
          .refreshEnded(session: refresh.reported, SessionEvent.RefreshEnd(result), after: $0)
        }
        slot?.giveBack()
        self.end(flight, of: refresh.owner, with: result)
      }
    }
  }

  private func end(
    _ flight: RefreshFlight, of owner: ObjectIdentifier?,
    with result: Result<RefreshEnding, any Error>
  ) {
    state.withLock { $0.flights[owner] = nil }
    if case .success(let ending) = result { ending.report() }
    flight.end(with: result)
  }

  // MARK: - Tries

  func verdict(
    for version: ItemVersion, at uptime: Duration, _ policy: RefreshPolicy
  ) -> RefreshLimiter.Verdict {
    state.withLock { $0.limiter.verdict(for: version, at: uptime, policy) }
  }

  /// Returns the verdict that would be given, for a caller that makes no try.
  func expectedVerdict(
    for version: ItemVersion, at uptime: Duration, _ policy: RefreshPolicy
  ) -> RefreshLimiter.Verdict {
    var limiter = state.withLock { $0.limiter }
    return limiter.verdict(for: version, at: uptime, policy)
  }

  var failures: (count: Int, last: (any Error)?) {
    state.withLock { ($0.limiter.failureCount, $0.limiter.lastError) }
  }

  func recordFailure(
    _ error: any Error, of version: ItemVersion?, at uptime: Duration, retryAfter: Duration?,
    _ policy: RefreshPolicy
  ) {
    state.withLock {
      $0.limiter.recordFailure(error, of: version, at: uptime, retryAfter: retryAfter, policy)
    }
  }

  func recordSuccess() {
    state.withLock { $0.limiter.forget() }
  }

  /// Forgets the refreshes of the previous user, because another user is signed in, or no user.
  ///
  /// - Parameters:
  ///   - count: The ``unsavedCount`` before that: a later unsaved item may be a new user's. That of
  ///     the previous user is never stored, because the item that it replaces is gone.
  ///   - before: The state that had the count.
  func forgetRefresh(ofFirst count: Int, in before: SharedSessionState) {
    state.withLock { state in
      if before !== self || state.unsavedCount <= count { state.unsaved = nil }
      state.limiter.forget()
    }
  }

  // MARK: - Time

  func learn(serverTime: Date, clock: any SessionClock) {
    let uptime = clock.uptime
    state.withLock { $0.judge.learn(serverTime: serverTime, uptime: uptime) }
  }

  func timeLeft(until expiration: Date, clock: any SessionClock) -> Duration {
    let (now, uptime) = (clock.now, clock.uptime)
    return state.withLock { $0.judge.timeLeft(until: expiration, now: now, uptime: uptime) }
  }

  /// Returns whether the clock was set back since an item was issued, and not in this process.
  func isClockBehind(_ issued: Date?, until expiration: Date, clock: any SessionClock) -> Bool {
    state.withLock { $0.judge.isClockBehind(issued, until: expiration, now: clock.now) }
  }

  /// Returns how long before it expires an item is refreshed: at most half of its lifetime, if that
  /// is known.
  func leeway(_ wanted: Duration, issued: Date?, until expiration: Date) -> Duration {
    state.withLock { $0.judge.lifetime(since: issued, until: expiration) }
      .map { min(wanted, $0 / 2) } ?? wanted
  }

  /// Records that an item was issued just now.
  func recordIssue(until expiration: Date, clock: any SessionClock) {
    let left = timeLeft(until: expiration, clock: clock)
    state.withLock { $0.judge.recordIssue(until: expiration, lifetime: left) }
  }

  // MARK: - Unsaved items

  /// A refreshed item that could not be stored yet.
  var unsaved: (any UnsavedItem)? {
    get { state.withLock { $0.unsaved } }
    set {
      state.withLock { state in
        state.unsaved = newValue
        if newValue != nil { state.unsavedCount += 1 }
      }
    }
  }

  /// How many refreshed items were unsaved so far.
  var unsavedCount: Int { state.withLock { $0.unsavedCount } }

  // MARK: - The end

  /// Why no user is signed in, if that is so.
  var reason: SignOutReason<any Error> {
    get { state.withLock { $0.reason } }
    set { state.withLock { $0.reason = newValue } }
  }

  /// Returns why no user is signed in, where the store records rejections.
  func reason(recorded: RecordedRejection?) -> SignOutReason<any Error> {
    let reason = reason
    switch (reason, recorded) {
    case (.rejected(let error), let recorded?) where recorded.isOf(error): return reason
    case (_, let recorded?): return .rejected(recorded)
    // The record was removed since this process made it: perhaps another one signed a user in and
    // out.
    case (.rejected, nil): return .unknown
    case (_, nil): return reason
    }
  }

  /// Removes the item for a reason.
  ///
  /// The reason is set before the item is removed, for those who see the removal at once. A reason
  /// that is already known is kept.
  func leaving<Result>(
    _ reason: SignOutReason<any Error>, _ body: () async throws -> Result
  ) async throws -> Result {
    give(reason)
    do {
      return try await body()
    } catch {
      self.reason = .unknown
      throw error
    }
  }

  /// Removes the item for a reason.
  func leaving<Result>(
    _ reason: SignOutReason<any Error>, _ body: () throws -> Result
  ) throws -> Result {
    give(reason)
    do {
      return try body()
    } catch {
      self.reason = .unknown
      throw error
    }
  }

  private func give(_ reason: SignOutReason<any Error>) {
    state.withLock { if case .unknown = $0.reason { $0.reason = reason } }
  }
}

/// The threads of refreshes: waiters may hold all threads of the cooperative pool, and a handler
/// may block.
let refreshThreads = BlockingExecutor(maximumThreadCount: 32)

/// The threads of timers, which fire even while handlers block all threads of refreshes, and
/// callers all of the cooperative pool.
let timerThreads = BlockingExecutor(maximumThreadCount: 2)

/// The threads that call completions, which may block: separate from refreshes, so that these
/// continue.
let completionThreads = BlockingExecutor(maximumThreadCount: 32)

/// The work of a refresh.
protocol RefreshWork: Sendable {
  /// The session, as events name it.
  var reported: SessionEvent.ReportedSession { get }
  /// The only session that may call its handler; `nil` where all sessions of an item share a
  /// refresh.
  var owner: ObjectIdentifier? { get }
  /// How many refreshes of this process may be under way, including this one.
  var maximumConcurrentCount: Int { get }
  /// The error when no more refreshes begin.
  var endOfProcess: any Error { get }

  /// Makes the refresh.
  ///
  /// - Parameter slot: The slot, given back while the refresh pauses; `nil` for a part of another
  ///   refresh.
  /// - Returns: How it ended.
  /// - Throws: The error that the refresh failed with.
  func run(in slot: RefreshSlot?) async throws -> RefreshEnding
}

/// How a refresh ended that was made, or found to be unnecessary.
enum RefreshEnding: Sendable {
  /// The item is a new one; the session announces it, unless that was already done.
  case isNew((any RefreshingSession)?, UserIdentifier?)
  case wasValidAlready
  /// The item was removed: the error for the waiters, the session, and the user.
  case wasRejected(SessionError, any RefreshingSession, UserIdentifier?)

  /// Announces to observers that the item is new or was removed.
  func report() {
    switch self {
    case .isNew(let session, let user): session?.didRefresh(user)
    case .wasValidAlready: break
    case .wasRejected(let error, let session, let user):
      let reason: any Error = error.underlying ?? error
      SessionEvent.report(
        .signedOut(session: session.reported, .rejected(SessionEvent.reason(reason))))
      session.wasRejected(reason, user)
    }
  }
}

extension RefreshWork {
  /// Reports a wait for another refresh of the item, which has just ended.
  func reportWait(_ time: ObservedTime) {
    // A shorter wait is only the time needed to find out that there is nothing to wait for.
    time.report { $0 < .milliseconds(10) ? nil : .refreshWaited(session: reported, for: $0) }
  }
}

extension SessionEvent.RefreshEnd {
  fileprivate init(_ result: Result<RefreshEnding, any Error>) {
    switch result {
    case .success(.isNew): self = .refreshed
    case .success(.wasValidAlready): self = .notNeeded
    case .success(.wasRejected): self = .rejected
    case .failure(let error): self = .failed(reason: SessionEvent.reason(error))
    }
  }
}

/// A session of any type, as a refresh uses it.
protocol RefreshingSession: AnyObject, Sendable {
  /// The session, as events name it.
  var reported: SessionEvent.ReportedSession { get }

  func sharedState() throws(StoreError) -> SharedSessionState

  /// Refreshes, whether or not that is needed.
  func refreshAlways() async throws

  /// Announces that this session refreshed the item of a user.
  func didRefresh(_ user: UserIdentifier?)

  /// Announces that a user's item was removed, because the server rejected it when this session
  /// refreshed it.
  func wasRejected(_ error: any Error, _ user: UserIdentifier?)
}

/// The `id` of a user, whatever its type.
///
/// Unchecked: the value is compared and passed on, and never changed.
struct UserIdentifier: Equatable, @unchecked Sendable {
  let value: AnyHashable

  /// Makes the identifier of an item that is `Identifiable`.
  init?(of item: Any) {
    guard let item = item as? any Identifiable else { return nil }
    value = Self.identifier(of: item)
  }

  private static func identifier(of item: some Identifiable) -> AnyHashable {
    AnyHashable(item.id)
  }
}
