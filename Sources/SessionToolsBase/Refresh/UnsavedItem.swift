/// An item that a server issued in exchange for one that it no longer accepts, until it is stored.
protocol UnsavedItem: Sendable {
  /// Tries once to store it.
  ///
  /// - Returns: What was stored; `nil` when there is nothing to store: the user has signed out,
  ///   another one has signed in, or the item was changed and cannot be merged.
  func storeOnce() async throws -> StoredItem?
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
  private let merge: SessionRefresher<Item>.Merge?
  private let sent: Item
  private let item: Item
  private let commit: any ItemCommit

  /// - Throws: `unencodable`.
  init(
    _ item: Item, of sent: ItemSnapshot<Item>, in storage: any ItemStorage<Item>,
    merge: SessionRefresher<Item>.Merge?
  ) throws {
    (self.item, self.sent, self.storage, self.merge) = (item, sent.item, storage, merge)
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
      guard let merge, let stored = try await storage.unattendedSnapshot(),
        let merged = merge(sent, item, stored.item)
      else { return nil }
      current = merged
      commit = try storage.commit(merged, replacing: stored.version)
    }
  }
}

extension ItemStorage {
  /// Reads the item as it is stored now; does not wait for a user, because others wait for the
  /// refresh.
  func unattendedSnapshot() async throws -> ItemSnapshot<Item>? {
    try await UnattendedRead.make { try await snapshot() }
  }
}
