import SecretStores
import Synchronization

extension UserAccounts {
  /// Returns all accounts with their states, in ascending order of the accounts: those that
  /// ``all()`` returns.
  ///
  /// Reads no user: a gate does not ask the person for it.
  ///
  /// - Throws: As `SecretStore.names(in:)` and `SecretStore.value(for:)`.
  public func currentStates() async throws -> [AccountState] {
    let book = book
    return try await threads.blocking { () throws(StoreError) in try AccountList(book).states }
  }

  /// The states of all accounts now, and again whenever one has changed, in any process that the
  /// store sees.
  ///
  /// ```swift
  /// for await states in accounts.states {
  ///   for case .rejected(let rejection) in states.map(\.status) { print(rejection) }
  /// }
  /// ```
  ///
  /// Each element is the whole list, as ``currentStates()`` returns it. A listener that falls
  /// behind gets the newest list and misses those between; the same list is not sent twice in a
  /// row. While the store cannot be read, the list stays as it is, also the first one, and the
  /// store is polled with growing pauses of up to 15 s. Each access makes a new stream, which ends
  /// with its task or with the store's own stream.
  public var states: AsyncStream<[AccountState]> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: [AccountState].self, bufferingPolicy: .bufferingNewest(1))
    // Requested before the first list, so that no change falls between the two.
    let events = container.store.changes()
    let clock = refresher?.clock ?? SystemSessionClock()
    let book = book
    let reading = Task {
      let (occasions, occasion) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let unread = UnreadEvents()
      let relaying = Task {
        for await event in events {
          unread.add(event)
          occasion.yield()
        }
        occasion.finish()
      }
      defer { relaying.cancel() }
      var list: AccountList?
      var recheck = Recheck(occasion, clock: clock)
      unread.add(.resynchronize)
      occasion.yield()
      for await _ in occasions {
        let known = list
        // Several events may have been taken as one.
        guard let event = unread.take() else { continue }
        do {
          let newer = try await threads.blocking { () throws(StoreError) -> AccountList? in
            if let known, try !known.mayDiffer(after: event) { return nil }
            return try AccountList(book)
          }
          recheck.plan(ifUnavailable: false)
          guard let newer else { continue }
          if newer.states != list?.states { continuation.yield(newer.states) }
          list = newer
        } catch {
          // A caller that asks for the states gets the error. What this event was about is unknown.
          unread.add(.resynchronize)
          recheck.plan(ifUnavailable: true)
        }
      }
      recheck.cancel()
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}

/// The events that came since the accounts were listed, as one.
private final class UnreadEvents: Sendable {
  private static let maximumNameCount = 100
  private let event = Mutex<StoreEvent?>(nil)

  func add(_ new: StoreEvent) {
    event.withLock { event in
      switch (event, new) {
      case (.changed(let names)?, .changed(let newer)) where names.count < Self.maximumNameCount:
        event = .changed(names.union(newer))
      case (nil, _): event = new
      default: event = .resynchronize
      }
    }
  }

  func take() -> StoreEvent? {
    event.withLock { event in
      defer { event = nil }
      return event
    }
  }
}

private let threads = BlockingExecutor(maximumThreadCount: 2)
