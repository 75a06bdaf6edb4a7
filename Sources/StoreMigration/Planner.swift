import SealedStore
import SessionToolsBase

/// The planner of a migration, which chooses the action for each item.
struct Planner {
  private let migration: Migration
  private let options: MigrationOptions
  private let digester: ItemDigester
  private let progress: Migration.Progress?
  private let isWithinOneStore: Bool
  private let protections: (before: StoreProtection, after: StoreProtection, isWeaker: Bool)

  /// The names that the target has.
  private var taken: Set<StoreKey> = []
  /// The names that items get in the target, each with the item's name in the source.
  private var claimed: [StoreKey: StoreKey]
  /// The names of all selected items, if source and target are the same store.
  private var sources: Set<StoreKey> = []

  /// - Parameters:
  ///   - migration: The migration to plan.
  ///   - options: The options that it was begun with.
  ///   - digester: Makes the digests of the values that are read.
  ///   - done: The names in the target of the items that were migrated already, each with the
  ///     item's name in the source.
  ///   - progress: Receives the progress of planning.
  /// - Throws: As reading the identities of the two stores.
  init(
    _ migration: Migration, _ options: MigrationOptions, _ digester: ItemDigester,
    besides done: [StoreKey: StoreKey], _ progress: Migration.Progress?
  ) throws(StoreError) {
    self.migration = migration
    self.options = options
    self.digester = digester
    self.progress = progress
    isWithinOneStore = try migration.isWithinOneStore()
    protections = try migration.protections()
    claimed = done
  }

  /// Returns the plan.
  ///
  /// - Throws: As reading the stores as a whole; `cancelled`.
  mutating func plan() throws(StoreError) -> MigrationPlan {
    var plan = MigrationPlan(
      before: protections.before, after: protections.after, isWeaker: protections.isWeaker)
    let listing = try migration.source.fullListing()
    plan.damage = listing.damage
    // Within one store, items that were copied already are not sources.
    let done = Set(claimed.values).union(isWithinOneStore ? Array(claimed.keys) : [])
    let selected = listing.keys.filter { options.selection.contains($0) }
    let keys = selected.filter { !done.contains($0) && !$0.isReserved }
    // A list is far cheaper than asking for each name, and shows which values must be read.
    taken = Set(try migration.target.fullListing().keys)
    sources = isWithinOneStore ? Set(selected) : []
    plan.values = listing.values
    var reader = ValueReader(migration.source, keys, known: listing.values)
    var byteCount = 0
    plan.entries.reserveCapacity(keys.count)
    for (number, key) in keys.enumerated() {
      try migration.step(progress, .planning, number, keys.count, byteCount)
      do throws(StoreError) {
        guard let value = try reader.next() else { throw absent(key) }
        byteCount += value.byteCount
        guard let item = try migration.item(key, value, options) else { continue }
        plan.entries.append(try entry(for: key, item))
      } catch let error where error.isOfOneItem {
        plan.entries.append(
          MigrationPlan.Entry(source: key, target: key, action: .impossible(error)))
      }
    }
    let reserved = selected.filter(\.isReserved)
    if !reserved.isEmpty {
      plan.entries += reserved.map {
        MigrationPlan.Entry(source: $0, target: $0, action: .leave)
      }
      plan.entries.sort { $0.source < $1.source }
    }
    try migration.step(progress, .planning, keys.count, keys.count, byteCount)
    return plan
  }

  private func absent(_ key: StoreKey) -> StoreError {
    StoreError(
      .changed, store: "\(key)", reason: "it was listed, but is no longer there")
  }

  private mutating func entry(
    for source: StoreKey, _ item: (key: StoreKey, value: SecretBytes)
  ) throws(StoreError) -> MigrationPlan.Entry {
    let (target, value) = item
    if target != source, sources.contains(target) {
      throw StoreError(
        .alreadyExists, store: "\(target)",
        reason: "another item that is migrated within the same store has this name",
        remedy: "Migrate that item first")
    }
    guard !target.isReserved else {
      throw StoreError(
        .invalidName, store: "\(target)", reason: "the library keeps its own items there",
        remedy: "Choose another name for the service")
    }
    try checkSize(of: value, target, "the target", migration.target.traits)
    if let other = claimed[target] {
      throw StoreError(
        .alreadyExists, store: "\(target)",
        reason: "\(other) would have the same name in the target", remedy: "Rename one of them")
    }
    guard taken.contains(target), let existing = try migration.target.value(for: target) else {
      return claim(target, for: source, value, .copy)
    }
    if existing == value { return claim(target, for: source, value, .equal, over: existing) }
    switch options.conflicts {
    case .fail: return MigrationPlan.Entry(source: source, target: target, action: .conflict)
    case .skip: return MigrationPlan.Entry(source: source, target: target, action: .skip)
    case .overwrite:
      try checkSize(of: existing, target, "the journal", migration.journal.store.traits)
      return claim(target, for: source, value, .overwrite, over: existing)
    case .keepBoth: return try entryBeside(target, for: source, value)
    }
  }

  private func checkSize(
    of value: SecretBytes, _ key: StoreKey, _ store: String, _ traits: StoreTraits
  ) throws(StoreError) {
    guard value.byteCount > traits.largestValueByteCount else { return }
    throw StoreError(
      .valueTooLarge, store: "\(key)",
      reason: "its value has \(value.byteCount) bytes, more than \(store) takes")
  }

  /// Returns an entry for the same name with the first number from 2 that is free or has the value.
  private mutating func entryBeside(
    _ target: StoreKey, for source: StoreKey, _ value: SecretBytes
  ) throws(StoreError) -> MigrationPlan.Entry {
    var number = 2
    while true {
      let beside = try StoreKey("\(target.identifier) (\(number))", in: target.namespace)
      number += 1
      guard claimed[beside] == nil, !sources.contains(beside) else { continue }
      guard taken.contains(beside), let existing = try migration.target.value(for: beside) else {
        return claim(beside, for: source, value, .keepBoth)
      }
      if existing == value { return claim(beside, for: source, value, .equal, over: existing) }
    }
  }

  private mutating func claim(
    _ target: StoreKey, for source: StoreKey, _ value: SecretBytes,
    _ action: MigrationPlan.Action, over existing: SecretBytes? = nil
  ) -> MigrationPlan.Entry {
    claimed[target] = source
    return MigrationPlan.Entry(
      source: source, target: target, action: action,
      seen: MigrationPlan.Seen(
        digest: digester.digest(of: target, value),
        existing: existing.map { digester.digest(of: target, $0) }))
  }
}

extension StoreKey {
  /// Whether the key names something that belongs to the library and not to its user.
  var isReserved: Bool {
    [MigrationJournal.namespace, .storeKeys].contains(namespace)
  }
}

extension Migration {
  /// Returns what an item of the source becomes in the target; `nil` if the transform omits it.
  ///
  /// - Throws: `invalidName`, or `unencodable` when the transform fails.
  func item(
    _ key: StoreKey, _ value: SecretBytes, _ options: MigrationOptions
  ) throws(StoreError) -> (key: StoreKey, value: SecretBytes)? {
    let target = try options.mapping.target(of: key)
    guard let transform else { return (target, value) }
    do {
      return try transform(target, value)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(
        .unencodable, store: "\(key)", reason: "the transform failed",
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
}
