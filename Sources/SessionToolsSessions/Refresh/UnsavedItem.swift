import SecretStores

/// An item that a server issued in exchange for one that it no longer accepts, until it is stored.
protocol UnsavedItem: Sendable {
  /// Tries once to store it.
  ///
  /// - Returns: What was stored; `nil` when there is nothing to store: the user has signed out,
  ///   another one has signed in, or the item was changed and cannot be merged.
  func storeOnce() async throws -> StoredItem?
}

extension UnsavedItem {
  /// Tries to store it again and again for a while, if the store cannot be reached.
  func storePatiently(
    _ policy: RefreshPolicy, _ clock: any SessionClock
  ) async throws -> StoredItem? {
    let end = clock.uptime + policy.attemptWindow
    var failureCount = 0
    while true {
      do {
        return try await storeOnce()
      } catch let error as StoreError where Self.isOfUnreachableStore(error.code) {
        let pause = failureCount == 0 ? .zero : policy.pause(after: failureCount)
        guard clock.uptime + pause < end else { throw error }
        try await clock.sleep(for: pause)
        failureCount += 1
      }
    }
  }

  private static func isOfUnreachableStore(_ code: StoreError.Code) -> Bool {
    [.unavailable, .timedOut, .outcomeUnknown].contains(code)
  }
}

/// What was stored of an unsaved item.
struct StoredItem: Sendable {
  let user: UserIdentifier?
  /// The item's bytes, if they are known.
  let bytes: SecretBytes?
}

/// The result of a refresh.
///
/// Unchecked: the items are not changed, and one caller at a time stores them.
struct IssuedItem<Item: Codable>: UnsavedItem, @unchecked Sendable {
  private let storage: any ItemStorage<Item>
  private let refresher: SessionRefresher<Item>
  private let sent: Item
  private let item: Item
  private let commit: any ItemCommit

  /// - Throws: `unencodable`.
  init(
    _ item: Item, of sent: ItemSnapshot<Item>, in storage: any ItemStorage<Item>,
    by refresher: SessionRefresher<Item>
  ) throws {
    (self.item, self.sent, self.storage, self.refresher) = (item, sent.item, storage, refresher)
    commit = try storage.commit(item, replacing: sent.version)
  }

  func storeOnce() async throws -> StoredItem? {
    var (current, commit) = (item, commit)
    while true {
      switch try await commit() {
      case .made: return StoredItem(user: UserIdentifier(of: current), bytes: commit.bytes)
      case .noItem: return nil
      case .otherItem: break
      }
      // The item was changed, or another user signed in, meanwhile.
      guard let stored = try await storage.unattendedSnapshot(), let merged = merged(stored.item)
      else { return nil }
      current = merged
      commit = try storage.commit(merged, replacing: stored.version)
    }
  }

  private func merged(_ stored: Item) -> Item? {
    guard let merge = refresher.merge else {
      return storage.inStore?.merge(sent, item, into: stored)
    }
    return wasIssuedLater(stored) ? nil : merge(sent, item, stored)
  }

  /// Returns whether a stored item was certainly issued after this one, by another refresh or
  /// sign-in: what is spent must not replace it.
  private func wasIssuedLater(_ stored: Item) -> Bool {
    guard let expiration = refresher.expiration(stored), expiration != refresher.expiration(sent),
      let own = refresher.expiration(item)
    else { return false }
    return expiration > own
  }
}
