import SessionToolsDBus
import SecretStores

/// Finding the items of the store: in its collection, or in all when it uses the default one.
///
/// Which collection is the default is not a property of an item: in KeePassXC it is the database in
/// front, and in gnome-keyring a person or a program can choose another. So an item is found in
/// whichever collection it is, and is absent only when none has it.
extension Operation {
  /// Which items must be found.
  enum Extent {
    /// One of them, in any collection.
    case presence
    /// One of them, in any open collection: it is the item.
    case one
    /// One of them, and all that are known to be in locked collections.
    case known
    /// All of them.
    case all
  }

  /// How often a service is searched whose collections are unlocked meanwhile.
  private static let maximumSearchCount = 5
  private static let pause = Duration.milliseconds(20)

  /// Returns the paths of the store's items with some attributes.
  ///
  /// - Throws: `locked` and similar errors when a locked collection may have more.
  func items(with attributes: [String: String], _ extent: Extent) async throws -> [String] {
    guard store.collection.name == nil else {
      return try await itemsOfNamed(with: attributes, extent)
    }
    for _ in 0..<Self.maximumSearchCount {
      let found = try await search(for: attributes)
      let present = found.open + found.locked
      if extent == .presence, !present.isEmpty { return present }
      if !found.locked.isEmpty, extent != .one || found.open.isEmpty {
        try await unlockIfLocked(collectionsOf: found.locked)
        continue
      }
      if extent != .all, !found.open.isEmpty { return found.open }
      let own = try await collection()
      if try await unlockIfLocked(own) { continue }
      let others = try await othersWithUnknownItems(than: own)
      if others.contains(where: { $0.isLocked == nil }) {
        // KeePassXC removes a collection that is being locked, and adds it again.
        try await pause()
        continue
      }
      let locked = others.filter { $0.isLocked == true }.map(\.path)
      if try await unlockWithoutQuestion(locked) { continue }
      if !found.open.isEmpty, others.isEmpty { return found.open }
      // A collection that was locked during the search may be unlocked again by now.
      let again = try await search(for: attributes)
      let states = try await provider.states(of: [own] + others.map(\.path), until: deadline)
      if states.allSatisfy({ $0.isLocked == false }), again.locked.isEmpty { return again.open }
    }
    throw store.locked()
  }

  /// As ``items(with:_:)``, for a store of a named collection: looks only there, unless there is
  /// none of that name, because its file was renamed.
  private func itemsOfNamed(
    with attributes: [String: String], _ extent: Extent
  ) async throws -> [String] {
    if let path = try await provider.path(of: store.collection, until: deadline) {
      return try await items(with: attributes, in: path)
    }
    if extent != .all {
      let found = try await search(for: attributes)
      if !found.open.isEmpty { return found.open }
    }
    return try await items(with: attributes, in: collection())
  }

  private func pause() async throws(DBusError) {
    do {
      try await Task.sleep(for: Self.pause)
    } catch {
      throw DBusError(.cancelled, "the task was cancelled")
    }
  }

  /// Searches all collections.
  ///
  /// KeePassXC reports items of open collections as locked until a person allows this program to
  /// read them; these are found like others.
  private func search(
    for attributes: [String: String]
  ) async throws -> (open: [String], locked: [String]) {
    if link.program.asksBeforeSearch {
      let all = try await provider.states(
        of: provider.collections(until: deadline), until: deadline)
      if all.allSatisfy({ $0.isLocked != false }) { return ([], []) }
    }
    let found = try await provider.search(for: attributes, until: deadline)
    if found.locked.isEmpty { return found }
    let collections = Set(found.locked.map(Provider.collection(of:)))
    let locked = Set(try await provider.locked(among: collections.sorted(), until: deadline))
    return (
      found.open + found.locked.filter { !locked.contains(Provider.collection(of: $0)) },
      found.locked.filter { locked.contains(Provider.collection(of: $0)) }
    )
  }

  /// Returns the collections other than the store's own whose items no search finds while they are
  /// locked, and which of them are.
  private func othersWithUnknownItems(
    than own: String
  ) async throws -> [(path: String, isLocked: Bool?)] {
    if link.program.findsLockedItems { return [] }
    return try await provider.states(
      of: provider.collections(until: deadline).filter { $0 != own }, until: deadline)
  }

  /// Unlocks collections that a person need not be asked about.
  ///
  /// - Returns: Whether there were any.
  /// - Throws: `locked` with the name of one that is not the store's own, and stays locked.
  private func unlockWithoutQuestion(_ collections: [String]) async throws -> Bool {
    for path in collections { try await unlock(path, asking: .never) }
    return !collections.isEmpty
  }

  /// Asks the person to unlock the other collections that may have items of the store.
  func unlockOthers(than own: String) async throws {
    let mine = try await search(for: [ItemAttributes.version: "1"])
    let known = mine.locked.map(Provider.collection(of:))
    let unknown = try await othersWithUnknownItems(than: own).filter { $0.isLocked == true }
    for path in Set(unknown.map(\.path) + known).sorted() {
      try await unlock(path, asking: .ifNeeded)
    }
  }

  /// Unlocks the collections of some items, as ``unlockIfLocked(_:)``.
  ///
  /// - Returns: Whether any was locked.
  @discardableResult
  func unlockIfLocked(collectionsOf items: [String]) async throws -> Bool {
    var wasLocked = false
    for collection in Set(items.map(Provider.collection(of:))).sorted() {
      if try await unlockIfLocked(collection) { wasLocked = true }
    }
    return wasLocked
  }
}
