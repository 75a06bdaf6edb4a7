import Foundation
import Synchronization

/// What all sessions of one item in this process share, however many objects they are: the one
/// refresh under way, how often it failed, what is known of time, and how the last user left.
final class SharedSessionState: Sendable {
  /// Which item of which container.
  enum Identity: Hashable {
    /// Of a store that says which it is.
    case store(String, StoreKey)
    /// Of a store that is an object, and says no more.
    case object(ObjectIdentifier, StoreKey)
    /// Of a container that is an object, and on no store.
    case container(ObjectIdentifier, String)
  }

  private struct State {
    /// By whose they are: each session with a handler of iOS-SessionTools has its own, since that handler
    /// may do anything, and all others share one.
    var flights: [ObjectIdentifier?: RefreshFlight] = [:]
    var limiter = RefreshLimiter()
    var judge = ExpiryJudge()
    var unsaved: UnsavedItem?
    var reason = SignOutReason.unknown
    var changes: ContainerChanges?
  }

  /// Reads of the item that several share, by the store object that each would read from.
  let reads = SharedReads<ObjectIdentifier, SharedItem>()

  private let state = Mutex(State())

  /// Changes that sessions make where there is no store; made when they are needed first.
  var changes: ContainerChanges {
    state.withLock { state in
      let changes = state.changes ?? ContainerChanges()
      state.changes = changes
      return changes
    }
  }

  // MARK: - The one refresh

  /// The refresh under way, or else this one.
  ///
  /// Others are told of it after it has ended, and before those who wait for it go on.
  ///
  /// - Parameters:
  ///   - refresh: What is to be done when none is under way.
  ///   - reader: The store object that the item is read from and stored in; `nil` where it is not
  ///     handed over.
  ///   - subject: The item to refresh as that store gave it, so that those who come later join
  ///     without reading it.
  /// - Returns: The refresh under way, to be waited for.
  func flight(
    _ refresh: any RefreshWork, reader: ObjectIdentifier?, subject: SecretBytes?
  ) -> RefreshFlight {
    let (flight, isNew) = state.withLock { state in
      if let flight = state.flights[refresh.owner] { return (flight, false) }
      let flight = RefreshFlight(reader: reader, subject: subject)
      state.flights[refresh.owner] = flight
      return (flight, true)
    }
    guard isNew else { return flight }
    // By way of its handler, another refresh waits for this one, with a slot of its own: all slots could
    // be held by such.
    let around = RefreshFlight.around.filter { !$0.isEnded }
    guard around.isEmpty else {
      begin(flight, refresh, around: around, in: nil)
      return flight
    }
    RefreshSlots.shared.take(of: refresh.largestConcurrentCount) { slot in
      switch slot {
      case .success(let slot): self.begin(flight, refresh, around: [], in: slot)
      case .failure: self.end(flight, of: refresh.owner, with: .failure(refresh.endOfProcess))
      }
    }
    return flight
  }

  private func begin(
    _ flight: RefreshFlight, _ refresh: any RefreshWork, around: [RefreshFlight],
    in slot: RefreshSlot?
  ) {
    // Detached: it may be begun by the end of another session's refresh, whose task-local values are of
    // another request and perhaps another user.
    let task = Task.detached(executorPreference: refreshThreads) {
      let time = ObservedTime()
      SessionEvent.tell(.refreshBegan(session: refresh.name))
      let result: Result<RefreshEnding, any Error>
      do {
        let ending = try await RefreshFlight.$around.withValue(around + [flight]) {
          try await refresh.run(in: slot)
        }
        result = .success(ending)
      } catch {
        result = .failure(error)
      }
      time.tell { .refreshEnded(session: refresh.name, SessionEvent.RefreshEnd(result), after: $0) }
      slot?.giveBack()
      self.end(flight, of: refresh.owner, with: result)
    }
    flight.set(task)
  }

  private func end(
    _ flight: RefreshFlight, of owner: ObjectIdentifier?,
    with result: Result<RefreshEnding, any Error>
  ) {
    state.withLock { $0.flights[owner] = nil }
    if case .success(let ending) = result { ending.tell() }
    flight.end(with: result)
  }

  // MARK: - The item

  /// The item that is being refreshed, for those who would read it from the same store object.
  func subject(for reader: ObjectIdentifier) -> SecretBytes? {
    state.withLock { $0.flights[nil]?.subject(for: reader) }
  }

  /// The item was changed: a refresh that is under way may be of another one.
  func itemHasChanged() {
    state.withLock { $0.flights[nil]?.forgetSubject() }
  }

  // MARK: - Tries

  func verdict(
    for version: ItemVersion, at uptime: Duration, _ policy: RefreshPolicy
  ) -> RefreshLimiter.Verdict {
    state.withLock { $0.limiter.verdict(for: version, at: uptime, policy) }
  }

  /// What the verdict would be, for one who does not try.
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

  /// Another user is signed in, or nobody: how the refreshes of the one before failed counts no more.
  func forgetRefresh() {
    state.withLock { state in
      state.unsaved = nil
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

  /// How long before it expires an item is to be refreshed: never more than half of the time that an
  /// item is known to last.
  func leeway(_ wanted: Duration, issued: Date?, until expiration: Date) -> Duration {
    state.withLock { $0.judge.lifetime(since: issued, until: expiration) }
      .map { min(wanted, $0 / 2) } ?? wanted
  }

  /// An item was issued just now.
  func recordIssue(until expiration: Date, clock: any SessionClock) {
    let left = timeLeft(until: expiration, clock: clock)
    state.withLock { $0.judge.recordIssue(until: expiration, lifetime: left) }
  }

  // MARK: - What could not be stored

  /// A refreshed item that could not be stored yet.
  var unsaved: UnsavedItem? {
    get { state.withLock { $0.unsaved } }
    set { state.withLock { $0.unsaved = newValue } }
  }

  // MARK: - The end

  /// Why nobody is signed in, when that is so.
  var reason: SignOutReason {
    get { state.withLock { $0.reason } }
    set { state.withLock { $0.reason = newValue } }
  }

  /// Removes the item for a reason.
  ///
  /// It is known before the item is gone, for those who see that at once. One that is known already
  /// is kept.
  func leaving<Result>(
    _ reason: SignOutReason, _ body: () async throws -> Result
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
  func leaving<Result>(_ reason: SignOutReason, _ body: () throws -> Result) throws -> Result {
    give(reason)
    do {
      return try body()
    } catch {
      self.reason = .unknown
      throw error
    }
  }

  private func give(_ reason: SignOutReason) {
    state.withLock { if case .unknown = $0.reason { $0.reason = reason } }
  }
}

/// Where refreshes run: those who wait for them may hold all threads of the cooperative pool, and a
/// handler may block.
let refreshThreads = ThreadPool("session-refresh", largestThreadCount: 32)

/// Where completions are called, which may block: apart from refreshes, so that these go on.
let completionThreads = ThreadPool("session-answer", largestThreadCount: 32)

/// An item that a server gave in exchange for one that it takes no more.
struct UnsavedItem: Sendable {
  let commit: any ItemCommit
  let user: UserIdentifier?
}

/// What is to be done for a refresh.
protocol RefreshWork: Sendable {
  /// The session, by its storage identifier.
  var name: String { get }
  /// The session whose handler only it may call; `nil` where all of an item share a refresh.
  var owner: ObjectIdentifier? { get }
  /// How many refreshes of this process may be under way when this one begins.
  var largestConcurrentCount: Int { get }
  /// What it fails with where no refresh begins any more.
  var endOfProcess: any Error { get }

  /// Refreshes.
  ///
  /// - Parameter slot: Is given back while nothing is under way; `nil` for a part of another refresh.
  /// - Returns: How it ended.
  /// - Throws: Why it did not end so.
  func run(in slot: RefreshSlot?) async throws -> RefreshEnding
}

/// How a refresh ended that was made, or found to be needless.
enum RefreshEnding: Sendable {
  /// The item is another one; the session is to say so, unless somebody else did.
  case isNew((any RefreshingSession)?, UserIdentifier?)
  case wasGoodAlready
  /// It was removed; this is the error for those who wait, and whose it was.
  case wasRejected(SessionError, any RefreshingSession, UserIdentifier?)

  /// Tells those who do not wait.
  func tell() {
    switch self {
    case .isNew(let session, let user): session?.didRefresh(user)
    case .wasGoodAlready: break
    case .wasRejected(let error, let session, let user):
      let reason: any Error = error.underlying ?? error
      SessionEvent.tell(
        .signedOut(session: error.session, .rejected(reason: SessionEvent.reason(reason))))
      session.wasRejected(reason, user)
    }
  }
}

extension RefreshWork {
  /// Tells of a wait for another refresh of the item that has just ended.
  func tellWait(_ time: ObservedTime) {
    // A shorter time is what it takes to find out that nothing has to be waited for.
    time.tell { $0 < .milliseconds(10) ? nil : .refreshWaited(session: name, for: $0) }
  }
}

extension SessionEvent.RefreshEnd {
  fileprivate init(_ result: Result<RefreshEnding, any Error>) {
    switch result {
    case .success(.isNew): self = .refreshed
    case .success(.wasGoodAlready): self = .notNeeded
    case .success(.wasRejected): self = .rejected
    case .failure(let error): self = .failed(reason: SessionEvent.reason(error))
    }
  }
}

/// A session of any type, as far as a refresh knows it.
protocol RefreshingSession: AnyObject, Sendable {
  func sharedState() throws(StoreError) -> SharedSessionState

  /// Refreshes, whether that is needed or not.
  func refreshAlways() async throws

  /// The item of a user was refreshed by this session.
  func didRefresh(_ user: UserIdentifier?)

  /// The item of a user was removed, because the server rejected it when this session refreshed it.
  func wasRejected(_ error: any Error, _ user: UserIdentifier?)
}

/// The `id` of a user, whatever its type.
///
/// Unchecked: it is compared and handed on, and nobody changes it.
struct UserIdentifier: Equatable, @unchecked Sendable {
  let value: AnyHashable

  /// Of an item that is `Identifiable`.
  init?(of item: Any) {
    guard let item = item as? any Identifiable else { return nil }
    value = Self.identifier(of: item)
  }

  private static func identifier(of item: some Identifiable) -> AnyHashable {
    AnyHashable(item.id)
  }
}
