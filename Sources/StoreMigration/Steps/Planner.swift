import SealedStore
import SecretStores

/// The planner of a migration, which chooses the action for each item, some items at a time.
struct Planner {
  private static let nothing = SecretBytes(utf8: "")

  private let migration: Migration
  private let options: MigrationOptions
  private let digester: ItemDigester
  private let progress: Migration.Progress?
  private let isWithinOneStore: Bool

  private var pages: any StorePages
  private var names: ArraySlice<ItemName> = []
  private var reader: ValueReader
  private var seenCount = 0
  /// How many items the source has that are not the library's own, how much it leaves out, and how
  /// many items are selected.
  private var (ownCount, leftOutCount, selectedCount) = (0, 0, 0)
  /// The first item that is not selected.
  private var firstOther: ItemName?
  /// The services that are to get another name, and of which no item is selected yet.
  private var unusedRenames: [MigrationOptions.Mapping.Rename]
  private var byteCount = 0
  /// Digests of the names that items get in the target; `nil` if no two can be the same.
  private var claimed: Set<ItemDigest>?

  /// The plan as far as it is made.
  private(set) var plan: MigrationPlan

  /// An item as it would be in the target.
  private struct Item {
    let source: ItemName
    let target: ItemName
    let value: SecretBytes
  }

  /// - Parameters:
  ///   - migration: The migration to plan.
  ///   - options: The options that it was begun with.
  ///   - digester: Makes the digests of the values that are read.
  ///   - progress: Receives the progress of planning.
  /// - Throws: As reading the stores as a whole.
  init(
    _ migration: Migration, _ options: MigrationOptions, _ digester: ItemDigester,
    _ progress: Migration.Progress?
  ) throws(StoreError) {
    self.migration = migration
    self.options = options
    self.digester = digester
    self.progress = progress
    isWithinOneStore = try migration.isWithinOneStore()
    plan = MigrationPlan(try migration.protections())
    pages = try migration.source.listingPages()
    reader = ValueReader(migration.source, [])
    unusedRenames = options.mapping.renames
    let keepsNames = options.mapping == MigrationOptions.Mapping() && migration.transform == nil
    claimed = keepsNames && options.conflicts != .keepBoth ? nil : []
  }

  /// Plans the next items: up to 1,000, or about 4 MiB.
  ///
  /// - Parameter omitted: Receives what the source leaves out, as it is found.
  /// - Returns: The items in the order of the source's list; `nil` behind the last one.
  /// - Throws: As reading the stores as a whole; `cancelled`; what the closure throws.
  mutating func next(
    _ omitted: (Omission) throws(StoreError) -> Void
  ) throws(StoreError) -> [MigrationPlan.Entry]? {
    // In order, each with the item to look for in the target unless its action is known.
    var found: [(entry: MigrationPlan.Entry?, item: Item?)] = []
    var foundByteCount = 0
    while found.count < MigrationBatch.maximumCount,
      foundByteCount < MigrationBatch.maximumByteCount, let name = try nextName(omitted)
    {
      guard !name.isReserved else {
        found.append((MigrationPlan.Entry(source: name, target: name, action: .leave), nil))
        continue
      }
      let value = try reader.nextResult()
      do throws(StoreError) {
        guard let value = try value.get() else { throw absent(name) }
        byteCount += value.byteCount
        guard let (target, made) = try migration.item(name, value, options) else { continue }
        foundByteCount += made.byteCount + name.canonicalByteCount + target.canonicalByteCount
        found.append((nil, Item(source: name, target: target, value: made)))
      } catch let error where error.isOfOneItem {
        found.append((impossible(name, error), nil))
      }
    }
    guard !found.isEmpty else {
      for omission in try foundInstead() { try leaveOut(omission, omitted) }
      try migration.step(progress, .planning, seenCount, seenCount, byteCount)
      return nil
    }
    let entries = try decide(found)
    for entry in entries { plan.count(entry) }
    return entries
  }

  /// Returns what to report in place of items that are missing: all of them, or all of a service
  /// that is to get another name.
  private func foundInstead() throws(StoreError) -> [Omission] {
    guard selectedCount == 0 else { return unusedRenames.map(Self.unused) }
    if let missed = options.selection.missed(ownCount, leftOutCount, such: firstOther) {
      return [missed]
    }
    guard plan.omittedCount == 0, plan.damage == nil else { return [] }
    return try migration.foundInstead()
  }

  private static func unused(_ rename: MigrationOptions.Mapping.Rename) -> Omission {
    Omission(
      "service \(rename.service.debugDescription)",
      reason: "no item of this service is migrated, so none is renamed to "
        + rename.newName.debugDescription)
  }

  private mutating func leaveOut(
    _ omission: Omission, _ omitted: (Omission) throws(StoreError) -> Void
  ) throws(StoreError) {
    plan.omittedCount += 1
    try omitted(omission)
  }

  /// Returns the next selected name, and reports the progress.
  private mutating func nextName(
    _ omitted: (Omission) throws(StoreError) -> Void
  ) throws(StoreError) -> ItemName? {
    while true {
      while let name = names.popFirst() {
        let total = max(pages.nameCount, seenCount + names.count + 1)
        try migration.step(progress, .planning, seenCount, total, byteCount)
        seenCount += 1
        if !name.isReserved { ownCount += 1 }
        guard options.selection.contains(name) else {
          if !name.isReserved { firstOther = firstOther ?? name }
          continue
        }
        selectedCount += 1
        unusedRenames.removeAll { $0.service.utf8.elementsEqual(name.namespace.service.utf8) }
        return name
      }
      guard let page = try pages.next() else { return nil }
      plan.damage = plan.damage ?? page.damage
      leftOutCount += page.omissions.count
      for omission in page.omissions where options.selection.contains(omission) {
        try leaveOut(omission, omitted)
      }
      names = page.names[...]
      let read = page.names.filter { options.selection.contains($0) && !$0.isReserved }
      reader = ValueReader(migration.source, read, known: page.values)
    }
  }

  /// Chooses the actions that are not known yet.
  private mutating func decide(
    _ found: [(entry: MigrationPlan.Entry?, item: Item?)]
  ) throws(StoreError) -> [MigrationPlan.Entry] {
    let targets = found.compactMap { $0.item?.target }.filter { !$0.isReserved }
    // `nil` if each name has to be asked for by itself, because one of the items is damaged.
    let present = try present(among: targets)
    var existing = ValueReader(
      migration.target, targets.filter { present?.contains($0) ?? true })
    var entries: [MigrationPlan.Entry] = []
    entries.reserveCapacity(found.count)
    for (entry, item) in found {
      guard let item else {
        if let entry { entries.append(entry) }
        continue
      }
      let isAsked = !item.target.isReserved && present?.contains(item.target) ?? true
      let value = try isAsked ? existing.nextResult() : .success(nil)
      do throws(StoreError) {
        entries.append(try self.entry(for: item, over: value))
      } catch let error where error.isOfOneItem {
        entries.append(impossible(item.source, error))
      }
    }
    return entries
  }

  /// Returns which of some names the target has; `nil` if it cannot say so of all together.
  private func present(among targets: [ItemName]) throws(StoreError) -> Set<ItemName>? {
    guard let target = migration.target as? any MigratableStore else { return nil }
    do throws(StoreError) {
      return try target.present(among: targets)
    } catch let error where error.isOfOneItem {
      return nil
    }
  }

  private func impossible(_ name: ItemName, _ error: StoreError) -> MigrationPlan.Entry {
    MigrationPlan.Entry(source: name, target: name, action: .impossible(error))
  }

  private func absent(_ name: ItemName) -> StoreError {
    StoreError(
      .changed, store: "\(name)", reason: "it was listed, but is no longer there")
  }

  private mutating func entry(
    for item: Item, over existing: Result<SecretBytes?, StoreError>
  ) throws(StoreError) -> MigrationPlan.Entry {
    let target = item.target
    guard !target.isReserved else {
      throw StoreError(
        .invalidName, store: "\(target)", reason: "the library keeps its own items there",
        remedy: "Choose another name for the service")
    }
    try checkSize(of: item.value, target, "the target", migration.target.traits)
    guard let existing = try existing.get() else { return try claim(target, for: item, .copy) }
    if target != item.source, isSource(target) {
      throw StoreError(
        .alreadyExists, store: "\(target)",
        reason: "another item that is migrated within the same store has this name",
        remedy: "Migrate that item first")
    }
    if existing == item.value { return try claim(target, for: item, .equal, over: existing) }
    switch options.conflicts {
    case .fail: return MigrationPlan.Entry(source: item.source, target: target, action: .conflict)
    case .skip: return MigrationPlan.Entry(source: item.source, target: target, action: .skip)
    case .overwrite:
      try checkSize(of: existing, target, "the journal", migration.journal.store.traits)
      return try claim(target, for: item, .overwrite, over: existing)
    case .keepBoth: return try entryBeside(item)
    }
  }

  /// Returns whether a name that the target has is also that of a selected item.
  private func isSource(_ target: ItemName) -> Bool {
    isWithinOneStore && options.selection.contains(target)
  }

  private func checkSize(
    of value: SecretBytes, _ name: ItemName, _ store: String, _ traits: StoreTraits
  ) throws(StoreError) {
    guard value.byteCount > traits.maximumValueByteCount else { return }
    throw StoreError(
      .valueTooLarge, store: "\(name)",
      reason: "its value has \(value.byteCount) bytes, more than \(store) takes")
  }

  /// Returns an entry for the same name with the first number from 2 that is free or has the value.
  private mutating func entryBeside(_ item: Item) throws(StoreError) -> MigrationPlan.Entry {
    let target = item.target
    var number = 2
    while true {
      let beside = try ItemName("\(target.identifier) (\(number))", in: target.namespace)
      number += 1
      guard !isClaimed(beside) else { continue }
      guard let existing = try migration.target.value(for: beside) else {
        return try claim(beside, for: item, .keepBoth)
      }
      guard !isSource(beside), existing == item.value else { continue }
      return try claim(beside, for: item, .equal, over: existing)
    }
  }

  private func isClaimed(_ target: ItemName) -> Bool {
    claimed?.contains(digester.digest(of: target, Self.nothing)) ?? false
  }

  private mutating func claim(
    _ target: ItemName, for item: Item, _ action: MigrationPlan.Action,
    over existing: SecretBytes? = nil
  ) throws(StoreError) -> MigrationPlan.Entry {
    let name = digester.digest(of: target, Self.nothing)
    guard claimed?.contains(name) != true else {
      throw StoreError(
        .alreadyExists, store: "\(target)",
        reason: "another item would have the same name in the target",
        remedy: "Rename one of them")
    }
    claimed?.insert(name)
    return MigrationPlan.Entry(
      source: item.source, target: target, action: action,
      seen: MigrationPlan.Seen(
        digest: digester.digest(of: target, item.value),
        existing: existing.map { digester.digest(of: target, $0) }))
  }
}

extension ItemName {
  /// Whether the name is that of something that belongs to the library and not to its user.
  var isReserved: Bool {
    [MigrationJournal.namespace, .storeKeys].contains(namespace)
  }
}

extension Migration {
  /// Returns what an item of the source becomes in the target; `nil` if the transform omits it.
  ///
  /// - Throws: `invalidName`, or `unencodable` when the transform fails.
  func item(
    _ name: ItemName, _ value: SecretBytes, _ options: MigrationOptions
  ) throws(StoreError) -> (name: ItemName, value: SecretBytes)? {
    let target = try options.mapping.target(of: name)
    guard let transform else { return (target, value) }
    do {
      return try transform(target, value)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(
        .unencodable, store: "\(name)", reason: "the transform failed",
        underlying: error)
    }
  }
}

extension StoreError {
  /// Whether the error concerns only one item, and not its store.
  var isOfOneItem: Bool {
    [
      Self.corrupt, Self.unsupportedVersion, Self.valueTooLarge, Self.invalidName,
      Self.alreadyExists, Self.unencodable, Self.undecodable, Self.changed,
    ].contains(code)
  }

  /// Whether a store refuses an item, and may take others.
  var isRefusal: Bool {
    [Self.valueTooLarge, Self.invalidName, Self.alreadyExists, Self.unencodable].contains(code)
  }
}
