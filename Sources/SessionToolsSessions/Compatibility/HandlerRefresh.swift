import SecretStores
/// A refresh by a handler of iOS-SessionTools, which stores the item itself.
///
/// It is tried once, because such a handler cannot say what its failure means. Only the handler's
/// own calls sign a user in or out.
struct HandlerRefresh<Item: Codable>: RefreshWork {
  let session: Session<Item>
  let storage: any ItemStorage<Item>
  let shared: SharedSessionState
  let handler: HeldHandler
  let refresher: SessionRefresher<Item>
  let wish: RefreshWish

  var reported: SessionEvent.ReportedSession { session.reported }

  var owner: ObjectIdentifier? { ObjectIdentifier(session) }

  var maximumConcurrentCount: Int { refresher.policy.maximumConcurrentCount }

  var endOfProcess: any Error {
    RefreshError.unableToRefresh(error: session.programIsEnding)
  }

  /// Calls the handler, unless the item has been refreshed meanwhile.
  ///
  /// - Throws: The handler's ``RefreshError``, `timedOut`, or what the store throws.
  func run(in slot: RefreshSlot?) async throws -> RefreshEnding {
    // The handler cannot say that it waits for the refresh of another session, which also needs a
    // slot.
    slot?.makeRoom()
    // Without a stored item there is nothing that two handlers could spend.
    guard try await session.containsItem() else { return try await call() }
    let time = ObservedTime()
    return try await storage.whileRefreshing(timeout: refresher.policy.maximumExclusion) { stored in
      reportWait(time)
      // Behind a locked gate nothing is known.
      if case .failure(let error) = stored, StoreError.Code.locked ~= error { throw error }
      // An unreadable item may be repaired by the handler.
      guard case .success(let snapshot) = stored else { return try await call() }
      // The user has signed out meanwhile.
      guard let snapshot else { throw RefreshError.noToken }
      guard wish.asksToRefresh(snapshot, Expiry(of: shared, refresher)) else {
        return wish.endingWithoutRefresh
      }
      return try await call()
    }
  }

  private func call() async throws -> RefreshEnding {
    let (clock, timeout) = (refresher.clock, refresher.policy.handlerTimeout)
    let (handler, name) = (handler, session.storageIdentifier)
    let error = await withCheckedContinuation { continuation in
      let answer = SingleCompletion(of: name) { continuation.resume(returning: $0) }
      let timer = clock.after(timeout) { [weak answer] in
        answer?(
          .unableToRefresh(
            error: SessionError(
              .timedOut, session: name,
              "the refresh handler has not called its completion within \(timeout)")))
      }
      handler.call { error in
        timer.cancel()
        answer(error)
      }
    }
    if let error { throw error }
    return .isNew(nil, nil)
  }
}

/// A handler shared by the thread that set it and those that call it.
///
/// Unchecked, because the old handler type says nothing about threads.
struct HeldHandler: @unchecked Sendable {
  let call: RefreshHandler
}
