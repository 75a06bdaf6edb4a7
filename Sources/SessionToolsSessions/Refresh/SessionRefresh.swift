import SecretStores
import Foundation

/// A refresh that waits for its turn, and is then made.
///
/// Kept small, because thousands may wait: the parts of a refresh are put together when it begins.
struct WaitingRefresh<Item: Codable>: RefreshWork {
  let session: Session<Item>
  let shared: SharedSessionState
  let wish: RefreshWish

  var reported: SessionEvent.ReportedSession { session.reported }
  var owner: ObjectIdentifier? { nil }
  var maximumConcurrentCount: Int { session.refresher?.policy.maximumConcurrentCount ?? 1 }
  var endOfProcess: any Error { session.programIsEnding }

  /// Refreshes until it succeeds, is found unnecessary, or has failed often enough.
  ///
  /// - Throws: `notSignedIn`, `temporarilyFailed`, or what the store throws.
  func run(in slot: RefreshSlot?) async throws -> RefreshEnding {
    guard let refresher = session.refresher, let handler = refresher.refresh else {
      throw RefreshError.unableToRefresh(error: session.noRefreshHandler)
    }
    let refresh = SessionRefresh(
      waiting: self, storage: try session.storage(), refresher: refresher, handler: handler)
    return try await refresh.run(in: slot)
  }
}

/// One refresh of a session's item, from reading it to storing the new one.
///
/// The order of its steps keeps users signed in: the stored item is read again when no one else can
/// refresh it; the new item is durable before any caller gets it; and only a rejection of the item
/// that is still stored removes anything.
struct SessionRefresh<Item: Codable> {
  let waiting: WaitingRefresh<Item>
  let storage: any ItemStorage<Item>
  let refresher: SessionRefresher<Item>
  let handler: SessionRefresher<Item>.Handler

  private var session: Session<Item> { waiting.session }
  private var shared: SharedSessionState { waiting.shared }
  private var wish: RefreshWish { waiting.wish }
  private var policy: RefreshPolicy { refresher.policy }
  private var clock: any SessionClock { refresher.clock }

  private enum Step {
    case ended(RefreshEnding)
    case again(after: Duration)
  }

  func run(in slot: RefreshSlot?) async throws -> RefreshEnding {
    var slot = slot
    var hasLostExclusion = false
    while true {
      let step: Step
      do {
        step = try await exclusiveStep()
      } catch StoreError.exclusionLost where !hasLostExclusion {
        hasLostExclusion = true
        // Stored at once if it can be, because another process may be about to send the old item.
        step = try await savingWhatWasNotSaved() ?? .again(after: .zero)
      }
      switch step {
      case .ended(let ending): return ending
      case .again(let pause):
        if Task.isCancelled { throw temporarilyFailed(retryAfter: nil) }
        if pause > .zero, let used = slot {
          used.giveBack()
          try await clock.sleep(for: pause)
          slot = try await again()
        } else {
          try await clock.sleep(for: pause)
        }
      }
    }
  }

  private func again() async throws -> RefreshSlot {
    do {
      return try await RefreshSlots.shared.take(of: policy.maximumConcurrentCount)
    } catch {
      throw waiting.endOfProcess
    }
  }

  private func exclusiveStep() async throws -> Step {
    // Between two tries, others may refresh: they may have a network that this process lacks.
    let time = ObservedTime()
    return try await storage.whileRefreshing(timeout: policy.maximumExclusion) { stored in
      waiting.reportWait(time)
      return try await step(try stored.get())
    }
  }

  private func step(_ stored: ItemSnapshot<Item>?) async throws -> Step {
    guard let snapshot = stored else {
      // The user has signed out.
      shared.unsaved = nil
      throw session.notSignedIn
    }
    if let step = try await savingWhatWasNotSaved() { return step }
    guard wish.asksToRefresh(snapshot, expiry) else { return .ended(wish.endingWithoutRefresh) }
    if let pause = try pauseBeforeTry(for: snapshot) { return .again(after: pause) }
    // The server's answer spends the token: what it gives instead must find room.
    try storage.checkRoom(replacing: snapshot.version)
    switch try await answer(about: snapshot.item) {
    case .refreshed(let item, let serverTime):
      if let serverTime { shared.learn(serverTime: serverTime, clock: clock) }
      return try await saving(item, over: snapshot)
    case .transientFailure(let error, let retryAfter, let replacement):
      if let replacement {
        // Another one may have been stored meanwhile, which is refreshed without a pause.
        let stored = try await recordingFailure(of: snapshot) {
          try await save(replacement, over: snapshot)
        }
        guard stored != nil else { return .again(after: .zero) }
        recordFailure(error, of: nil, retryAfter: retryAfter)
        return .again(after: .zero)
      }
      recordFailure(error, of: snapshot.version, retryAfter: retryAfter)
      return .again(after: .zero)
    case .rejected(let error):
      return try await ending(of: snapshot, rejectedWith: error)
    }
  }

  private var flight: RefreshFlight? { RefreshFlight.around.last }

  private var expiry: Expiry<Item> { Expiry(of: shared, refresher) }

  /// Returns the pause before the next try; `nil` when it may be made now.
  ///
  /// - Throws: `temporarilyFailed` when it is not worth waiting.
  private func pauseBeforeTry(for snapshot: ItemSnapshot<Item>) throws -> Duration? {
    switch shared.verdict(for: snapshot.version, at: clock.uptime, policy) {
    case .now: return nil
    case .exhausted(let rest): throw temporarilyFailed(retryAfter: rest)
    case .after(let pause):
      let isValid = wish.isForValidItem && expiry.isValid(snapshot.item)
      guard !isValid, pause <= policy.attemptWindow else {
        throw temporarilyFailed(retryAfter: pause)
      }
      return pause
    }
  }

  private func temporarilyFailed(retryAfter: Duration?) -> SessionError {
    SessionError(
      .temporarilyFailed, session: session.storageIdentifier,
      "the item cannot be refreshed now, and was kept", retryAfter: retryAfter,
      underlying: shared.failures.last)
  }

  private func recordFailure(
    _ error: any Error, of version: ItemVersion?, retryAfter: Duration? = nil
  ) {
    shared.recordFailure(error, of: version, at: clock.uptime, retryAfter: retryAfter, policy)
    SessionEvent.report(
      .refreshTryFailed(
        session: waiting.reported, count: shared.failures.count,
        reason: SessionEvent.reason(error)))
  }

  /// Returns the handler's result; a handler that takes too long, or during which the exclusive
  /// access is about to be lost, is asked to end: another process will send the same token.
  ///
  /// - Throws: `exclusionLost`, and the handler was not called.
  private func answer(about item: Item) async throws -> RefreshOutcome<Item> {
    let flight = flight
    let timer = clock.after(policy.handlerTimeout) { flight?.cancel() }
    defer { timer.cancel() }
    // Last of all: if this process was stopped meanwhile, another one may have sent the token.
    let store = storage.leasingStore
    try await store?.confirmExclusion()
    let watch = store.map { store in
      Task(executorPreference: timerThreads) {
        if await store.isLosingExclusion() { flight?.cancel() }
      }
    }
    defer { watch?.cancel() }
    do {
      return try await handler(RefreshRequest(item: item))
    } catch {
      return .transientFailure(error)
    }
  }

  // MARK: - Storing

  private func saving(_ item: Item, over snapshot: ItemSnapshot<Item>) async throws -> Step {
    try await recordingFailure(of: snapshot) {
      guard let stored = try await save(item, over: snapshot) else { return .again(after: .zero) }
      recordIssue(of: item, stored.bytes)
      flight?.endStoring(stored.bytes)
      return .ended(.isNew(session, stored.user))
    }
  }

  private func recordingFailure<Result>(
    of snapshot: ItemSnapshot<Item>, _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch {
      recordFailure(error, of: snapshot.version)
      throw error
    }
  }

  /// Stores an item over the one that was sent; returns `nil` if that is no longer stored.
  private func save(_ item: Item, over snapshot: ItemSnapshot<Item>) async throws -> StoredItem? {
    let refreshed = try IssuedItem(item, of: snapshot, in: storage, by: refresher)
    // The refresh spent the replaced item: if the new one cannot be stored now, it is kept and
    // stored later.
    shared.unsaved = refreshed
    flight?.beginStoring()
    let stored = try await save(refreshed)
    shared.unsaved = nil
    return stored
  }

  /// Stores a refreshed item, trying again and again while the store cannot be reached.
  ///
  /// The exclusive access is kept meanwhile: the next one who refreshes would send a token that was
  /// spent.
  private func save(_ unsaved: any UnsavedItem) async throws -> StoredItem? {
    let (policy, clock) = (policy, clock)
    // In a task of its own: this one is cancelled when the handler takes too long, and the item
    // that it got nevertheless must be stored.
    return try await Task(executorPreference: refreshThreads) {
      try await unsaved.storePatiently(policy, clock)
    }.value
  }

  private func recordIssue(of item: Item, _ bytes: SecretBytes?) {
    // As it will be read: its dates may have lost their fractions. If it cannot be decoded, reading
    // it reports that.
    let stored = bytes.flatMap { try? storage.inStore?.snapshot(of: $0).item }
    let item = stored ?? item
    if let expiration = refresher.expiration(item) {
      shared.recordIssue(until: expiration, clock: clock)
    }
    guard !expiry.isValid(item) else { return shared.recordSuccess() }
    let error = SessionError(
      .temporarilyFailed, session: session.storageIdentifier,
      "the refreshed item has already expired: set the clock, or pass the server's time")
    recordFailure(error, of: nil)
  }

  private func savingWhatWasNotSaved() async throws -> Step? {
    guard let unsaved = shared.unsaved else { return nil }
    let stored = try await save(unsaved)
    shared.unsaved = nil
    guard let stored else { return .again(after: .zero) }
    shared.recordSuccess()
    // That refresh may have been long ago, or the item may have been stored then without
    // confirmation.
    guard let snapshot = try await storage.unattendedSnapshot(),
      !wish.asksToRefresh(snapshot, expiry)
    else { return .again(after: .zero) }
    return .ended(.isNew(session, stored.user))
  }

  // MARK: - Signing out

  private func ending(
    of snapshot: ItemSnapshot<Item>, rejectedWith error: any Error
  ) async throws -> Step {
    // The reason may be of a user who was signed out before another process signed this one in.
    shared.reason = .unknown
    let outcome = try await shared.leaving(.rejected(error)) {
      try await storage.remove(
        snapshot.version, recording: RecordedRejection(error, at: clock.now))
    }
    guard case .made = outcome else {
      // The user was signed out meanwhile, or a newer item was stored, and the rejection was of an
      // item that is no longer used.
      if case .otherItem = outcome { shared.reason = .unknown }
      return .again(after: .zero)
    }
    shared.recordSuccess()
    let refusal = SessionError(
      .rejected, session: session.storageIdentifier,
      "the server permanently rejected the item, and the user was signed out", underlying: error)
    return .ended(.wasRejected(refusal, session, UserIdentifier(of: snapshot.item)))
  }
}
