import SecretStores
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
  /// - Throws: ``SessionError``; `StoreError` when the store cannot be read or written;
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
  /// - Throws: A `StoreError`, such as `invalidName`, when the session cannot find out where its
  ///   item is, which is asked once.
  public func learn(serverTime: Date) async throws {
    try await sharedState().learn(serverTime: serverTime, clock: effectiveRefresher.clock)
  }

  // MARK: - Reading

  /// What a caller finds before it waits for a refresh.
  private enum Finding {
    /// The stored item, which can be used as it is.
    case usable(ItemSnapshot<T>)
    /// An item that is to be replaced in any case.
    case unwanted(ItemVersion)
    /// An item that expires soon, or has expired.
    case due(ItemVersion, isValid: Bool)
  }

  private func validSnapshot(_ strategy: RefreshStrategy) async throws -> ItemSnapshot<T> {
    let shared = try await sharedState()
    let (version, isValid): (ItemVersion, Bool)
    switch try await finding(strategy, shared) {
    case .usable(let snapshot): return snapshot
    case .unwanted(let version): return try await snapshot(otherThan: version, shared)
    case .due(let found, let isStillValid): (version, isValid) = (found, isStillValid)
    case nil:
      // The user signed out elsewhere: a refresh finds that out, and discards what was not stored.
      guard strategy != .never, shared.unsaved != nil else { throw notSignedIn }
      return try await snapshot(otherThan: nil, shared)
    }
    var refreshed: RefreshedItem
    var snapshot: ItemSnapshot<T>
    do {
      refreshed = try await refreshOnce(.ifNeeded(version), shared)
      snapshot = try await self.snapshot(refreshed)
      // A refresh that was joined may have been of the item before this one.
      if snapshot.version == version, refreshed.wasJoined, refreshed.isNew, refresher != nil {
        refreshed = try await refreshOnce(.ifNeeded(version), shared)
        snapshot = try await self.snapshot(refreshed)
      }
    } catch {
      guard isValid, Self.mayUseItem(after: error), let again = try? await storage().snapshot(),
        Expiry(of: shared, effectiveRefresher).isValid(again.item)
      else { throw error }
      return again
    }
    // An old handler may have stored nothing.
    if refresher == nil, snapshot.version == version, !isValid {
      throw expired("though it was refreshed")
    }
    return snapshot
  }

  /// Reads the item, and decides whether it must be refreshed; returns `nil` without an item.
  private func finding(
    _ strategy: RefreshStrategy, _ shared: SharedSessionState
  ) async throws -> Finding? {
    guard let snapshot = try await storage().snapshot() else { return nil }
    let refresher = effectiveRefresher
    let expiry = Expiry(of: shared, refresher)
    let isValid = expiry.isValid(snapshot.item)
    switch strategy {
    case .never:
      guard isValid else { throw expired("and was not refreshed") }
      return .usable(snapshot)
    case .always: return .unwanted(snapshot.version)
    case .ifNeeded: break
    }
    guard expiry.isDue(snapshot.item) else { return .usable(snapshot) }
    guard hasMeansToRefresh else {
      guard isValid else { throw expired("and the session has no refresher") }
      return .usable(snapshot)
    }
    if isValid,
      case .after = shared.expectedVerdict(
        for: snapshot.version, at: refresher.clock.uptime, refresher.policy)
    {
      return .usable(snapshot)
    }
    return .due(snapshot.version, isValid: isValid)
  }

  private func snapshot(
    otherThan version: ItemVersion?, _ shared: SharedSessionState
  ) async throws -> ItemSnapshot<T> {
    guard hasMeansToRefresh else {
      throw SessionError(
        .expired, session: storageIdentifier,
        "the item cannot be refreshed, because the session has no refresher")
    }
    let refreshed = try await refresh(.otherThan(version), shared)
    let newer = try await snapshot(refreshed)
    // A refresh that was joined may have stored the very item that is to be replaced.
    guard newer.version == version, refreshed.wasJoined, refresher != nil else { return newer }
    return try await snapshot(try await refresh(.otherThan(version), shared))
  }

  /// Returns the item that a refresh has handed over, or otherwise the stored item.
  private func snapshot(_ refreshed: RefreshedItem) async throws -> ItemSnapshot<T> {
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
      let refreshed = try await refreshOnce(wish, shared)
      // A refresh that was joined may have had the wish `ifNeeded`, and found a valid item.
      if refreshed.isNew { return refreshed }
    }
  }

  /// Joins or begins a refresh, and waits for it.
  private func refreshOnce(
    _ wish: RefreshWish, _ shared: SharedSessionState
  ) async throws -> RefreshedItem {
    let storage = try storage()
    let reader = storage.inStore?.address.reader
    let (flight, begin) = try flight(for: wish, shared, storage, reader: reader)
    let refresher = effectiveRefresher
    let waiter: RefreshFlight.Waiter?
    do {
      // Joined before it begins: a short refresh would end first, and its item would be read again.
      defer { begin?() }
      waiter = try flight.join(refresher.policy, session: storageIdentifier, reader: reader)
    }
    var refreshed = try await flight.outcome(
      for: waiter, refresher.policy, by: refresher.clock, session: storageIdentifier)
    refreshed.wasJoined = begin == nil
    return refreshed
  }

  /// Returns the refresh under way, or one to begin.
  private func flight(
    for wish: RefreshWish, _ shared: SharedSessionState, _ storage: any ItemStorage<T>,
    reader: ObjectIdentifier?
  ) throws -> (RefreshFlight, begin: (() -> Void)?) {
    if refresher != nil {
      return shared.flight(
        WaitingRefresh(session: self, shared: shared, wish: wish), reader: reader)
    }
    guard let handler = oldHandler else {
      throw RefreshError.unableToRefresh(error: noRefreshHandler)
    }
    let work = HandlerRefresh(
      session: self, storage: storage, shared: shared, handler: handler,
      refresher: effectiveRefresher, wish: wish)
    // The handler's effect on the item is unknown, so the item is not handed over.
    return shared.flight(work, reader: nil)
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
