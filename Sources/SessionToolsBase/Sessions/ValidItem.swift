public import Foundation

extension Session {
  /// Returns a valid item, refreshing it first if necessary.
  ///
  /// However many tasks, threads and, on a store, processes ask at the same time, it is refreshed
  /// once. The new item is durable before any caller gets it. An item that is about to expire and
  /// cannot be refreshed now is returned until it expires. Cancelling the task leaves the refresh
  /// to the other waiters.
  ///
  /// - Parameter strategy: `.ifNeeded`, to refresh when the item expires within the policy's
  ///   leeway; `.always`, even if it is valid; or `.never`.
  /// - Returns: The item as it is stored.
  /// - Throws: ``SessionError``; ``StoreError`` when the store cannot be read or written;
  ///   `CancellationError`; with an old handler, its ``RefreshError``.
  public func validItem(_ strategy: RefreshStrategy = .ifNeeded) async throws -> T {
    try await validSnapshot(strategy).item
  }

  /// Sends a request with a valid item, and once more with a newer one if the server rejects it.
  ///
  /// ```swift
  /// let (data, response) = try await session.withValidItem { account in
  ///   try await URLSession.shared.data(for: request(as: account))
  /// } isRejected: { _, response in
  ///   (response as? HTTPURLResponse)?.statusCode == 401
  /// }
  /// ```
  ///
  /// If others have refreshed the item meanwhile, their item is used without another refresh. If
  /// another user has signed in meanwhile, the request is not sent for that user; users are
  /// distinguished where they are `Identifiable`.
  ///
  /// On Linux, Foundation of Swift 6.3 can block for ever or end the process when a task that waits
  /// for `URLSession` is cancelled (swift-corelibs-foundation, issue 5412). If yours may be
  /// cancelled, send the request in a task of its own: `Task { … }.value`.
  ///
  /// - Parameters:
  ///   - send: Sends the request with an item; called once or twice.
  ///   - isRejected: Returns whether the response says that the item is no longer valid.
  /// - Returns: The last response.
  /// - Throws: What `send` throws, and as ``validItem(_:)``.
  public func withValidItem<Response>(
    _ send: (T) async throws -> Response, isRejected: (Response) throws -> Bool
  ) async throws -> Response {
    let snapshot = try await validSnapshot(.ifNeeded)
    let response = try await send(snapshot.item)
    guard try isRejected(response), hasMeansToRefresh else { return response }
    let newer = try await self.snapshot(otherThan: snapshot.version, try await sharedState())
    guard UserIdentifier(of: newer.item) == UserIdentifier(of: snapshot.item) else {
      throw SessionError(
        .notSignedIn, session: storageIdentifier,
        "another user has signed in since the request was sent")
    }
    return try await send(newer.item)
  }

  /// Records the time of the server that issues the items, such as from the `Date` of a response.
  ///
  /// From then on, items expire by that time, whatever the wall clock of this machine says.
  ///
  /// - Throws: A ``StoreError``, such as `invalidName`, when the session cannot find out where its
  ///   item is, which is asked once.
  public func learn(serverTime: Date) async throws {
    try await sharedState().learn(serverTime: serverTime, clock: effectiveRefresher.clock)
  }

  // MARK: - Reading

  // Thousands of callers may wait for one refresh, so each must hold little memory while it waits:
  // no item, and few local variables. A task keeps the memory that it once needed until it ends, so
  // steps that need much are in functions that are not `async`, which use the thread's memory.

  /// The findings about an item that must not be used as it is.
  private struct Due {
    let version: ItemVersion
    /// Whether it has not expired yet.
    let isValid: Bool
    /// The refresh that the strategy `ifNeeded` begins or joins.
    var wait: Result<RefreshWait, any Error>?
  }

  private func validSnapshot(_ strategy: RefreshStrategy) async throws -> ItemSnapshot<T> {
    let shared = try await sharedState()
    var due: Due?
    do {
      if let usable = try await usableSnapshot(strategy, shared, &due) { return usable }
    } catch SessionError.notSignedIn where shared.unsaved != nil {
      // The user signed out elsewhere: a refresh finds that out, and discards what was not stored.
      return try await snapshot(otherThan: nil, shared)
    }
    guard let due else { throw notSignedIn }
    guard let wait = due.wait else { return try await snapshot(otherThan: due.version, shared) }
    let refreshed: RefreshedItem
    do {
      refreshed = try await wait.get().outcome()
    } catch {
      return try await snapshot(of: due, after: error, shared)
    }
    return try await snapshot(of: due, refreshed, shared)
  }

  /// Returns the stored item, if it can be used as it is.
  private func usableSnapshot(
    _ strategy: RefreshStrategy, _ shared: SharedSessionState, _ due: inout Due?
  ) async throws -> ItemSnapshot<T>? {
    let storage = try storage()
    if strategy == .ifNeeded, let inStore = storage.inStore, let reader = inStore.address.reader {
      let stored = try await shared.storedItem(at: inStore.address, by: reader)
      if let usable = try usableSnapshot(stored, by: reader, inStore, shared, &due) {
        return usable
      }
      if due != nil { return nil }
    }
    return try usableSnapshot(try await storage.snapshot(), strategy, storage, shared, &due)
  }

  /// Returns the item that one task has read for all, if it can be used as it is; nothing is due if
  /// the item must be read again.
  @inline(never)
  private func usableSnapshot(
    _ stored: SharedItem, by reader: ObjectIdentifier, _ storage: StoreItemStorage<T>,
    _ shared: SharedSessionState, _ due: inout Due?
  ) throws -> ItemSnapshot<T>? {
    // At the end, so that the refresh begins before the others continue: they then join it without
    // reading again.
    defer { shared.end(stored, by: reader) }
    let snapshot = try stored.bytes.flatMap { try storage.snapshot(of: $0) }
    let usable = try usableSnapshot(snapshot, .ifNeeded, storage, shared, &due)
    // An item that is being refreshed, although it is valid, may no longer be the stored one.
    guard stored.isSubject, usable != nil else { return usable }
    due = nil
    return nil
  }

  /// Returns a stored item, if it can be used as it is.
  @inline(never)
  private func usableSnapshot(
    _ snapshot: ItemSnapshot<T>?, _ strategy: RefreshStrategy, _ storage: any ItemStorage<T>,
    _ shared: SharedSessionState, _ due: inout Due?
  ) throws -> ItemSnapshot<T>? {
    guard let snapshot else { throw notSignedIn }
    let refresher = effectiveRefresher
    let expiry = Expiry(of: shared, refresher)
    let isValid = expiry.isValid(snapshot.item)
    due = Due(version: snapshot.version, isValid: isValid)
    switch strategy {
    case .never:
      guard isValid else { throw expired("and was not refreshed") }
      return snapshot
    case .always: return nil
    case .ifNeeded: break
    }
    guard expiry.isDue(snapshot.item) else { return snapshot }
    guard hasMeansToRefresh else {
      guard isValid else { throw expired("and the session has no refresher") }
      return snapshot
    }
    if isValid,
      case .after = shared.expectedVerdict(
        for: snapshot.version, at: refresher.clock.uptime, refresher.policy)
    {
      return snapshot
    }
    due?.wait = Result {
      try wait(for: .ifNeeded(snapshot.version), subject: snapshot.bytes, storage, shared)
    }
    return nil
  }

  /// Returns an item that is still valid after its refresh failed.
  private func snapshot(
    of due: Due, after error: any Error, _ shared: SharedSessionState
  ) async throws -> ItemSnapshot<T> {
    guard due.isValid, Self.mayUseItem(after: error),
      let again = try? await storage().snapshot(),
      Expiry(of: shared, effectiveRefresher).isValid(again.item)
    else { throw error }
    return again
  }

  private func snapshot(
    of due: Due, _ refreshed: RefreshedItem, _ shared: SharedSessionState
  ) async throws -> ItemSnapshot<T> {
    let snapshot = try await snapshot(refreshed, shared)
    // An old handler may have stored nothing.
    if refresher == nil, snapshot.version == due.version, !due.isValid {
      throw expired("though it was refreshed")
    }
    return snapshot
  }

  private func snapshot(
    otherThan version: ItemVersion?, _ shared: SharedSessionState
  ) async throws -> ItemSnapshot<T> {
    guard hasMeansToRefresh else {
      throw SessionError(
        .expired, session: storageIdentifier,
        "the item cannot be refreshed, because the session has no refresher")
    }
    return try await snapshot(try await refresh(.otherThan(version), shared), shared)
  }

  /// Returns the item that a refresh has handed over, or otherwise the stored item.
  private func snapshot(
    _ refreshed: RefreshedItem, _ shared: SharedSessionState
  ) async throws -> ItemSnapshot<T> {
    let storage = try storage()
    if let bytes = refreshed.bytes, let snapshot = try storage.inStore?.snapshot(of: bytes) {
      return snapshot
    }
    guard let snapshot = try await storage.snapshot() else { throw notSignedIn }
    return snapshot
  }

  /// Returns whether a still valid item may be used after a refresh failed with this error.
  private static func mayUseItem(after error: any Error) -> Bool {
    if error is CancellationError { return false }
    guard let error = error as? SessionError else { return true }
    return ![SessionError.notSignedIn, SessionError.rejected, SessionError.reentrant]
      .contains(error.code)
  }

  // MARK: - Refreshing

  /// Refreshes whether or not that is needed, whichever user is signed in.
  func refreshAlways() async throws {
    let shared = try await sharedState()
    // An old handler is called in any case: it may sign a user in, or repair an unreadable item.
    let wish =
      refresher == nil ? RefreshWish.always : .otherThan(try await storage().snapshot()?.version)
    _ = try await refresh(wish, shared)
  }

  private func refresh(
    _ wish: RefreshWish, _ shared: SharedSessionState
  ) async throws -> RefreshedItem {
    while true {
      let refreshed = try await wait(for: wish, try storage(), shared).outcome()
      // A refresh that was joined may have had the wish `ifNeeded`, and found a valid item.
      if refreshed.isNew { return refreshed }
    }
  }

  /// Joins or begins a refresh; the bytes of its item may be known.
  private func wait(
    for wish: RefreshWish, subject: SecretBytes? = nil, _ storage: any ItemStorage<T>,
    _ shared: SharedSessionState
  ) throws -> RefreshWait {
    let (refresher, reader) = (effectiveRefresher, storage.inStore?.address.reader)
    let flight: RefreshFlight
    if self.refresher != nil {
      flight = shared.flight(
        WaitingRefresh(session: self, shared: shared, wish: wish), reader: reader, subject: subject)
    } else if let handler = oldHandler {
      // The handler's effect on the item is unknown, so the item is not handed over.
      flight = shared.flight(
        HandlerRefresh(
          session: self, storage: storage, shared: shared, handler: handler, refresher: refresher,
          wish: wish),
        reader: nil, subject: nil)
    } else {
      throw RefreshError.unableToRefresh(error: noRefreshHandler)
    }
    return try flight.wait(
      refresher.policy, by: refresher.clock, session: storageIdentifier, reader: reader)
  }

  private var hasMeansToRefresh: Bool { refresher != nil || oldHandler != nil }

  /// The session's refresher, or one that only knows when items expire.
  private var effectiveRefresher: SessionRefresher<T> {
    refresher ?? SessionRefresher()
  }

  // MARK: - Errors

  var notSignedIn: SessionError {
    SessionError(.notSignedIn, session: storageIdentifier, "no user is signed in")
  }

  var noRefreshHandler: SessionError {
    SessionError(
      .noRefreshHandler, session: storageIdentifier,
      "it has no refresh handler: set its refreshHandler")
  }

  var programIsEnding: SessionError {
    SessionError(
      .temporarilyFailed, session: storageIdentifier,
      "the program is shutting down, and no new refresh is started")
  }

  private func expired(_ addition: String) -> SessionError {
    SessionError(
      .expired, session: storageIdentifier, "the item has expired, \(addition)")
  }
}
