import SealedStore
import SecretStores

/// The execution of a migration, which records each step in the journal before it takes it.
///
/// One batch of items is in memory at a time.
struct MigrationEngine {
  let migration: Migration
  var header: MigrationJournal.Header
  let digester: ItemDigester
  private let progress: Migration.Progress?
  var byteCount = 0

  init(
    _ migration: Migration, _ header: MigrationJournal.Header, _ progress: Migration.Progress?
  ) throws(StoreError) {
    self.migration = migration
    self.header = header
    self.progress = progress
    digester = try ItemDigester(key: SecretBytes(header.digestKey))
  }

  var journal: MigrationJournal { migration.journal }

  /// Plans the migration, and calls one closure with every item and the action for it, and another
  /// with everything that the source leaves out.
  ///
  /// - Throws: As `Planner`; what the closures throw.
  func plan(
    _ body: (MigrationPlan.Entry) throws(StoreError) -> Void,
    _ omitted: (Omission) throws(StoreError) -> Void
  ) throws(StoreError) -> MigrationPlan {
    var planner = try Planner(migration, header.options, digester, progress)
    while let entries = try planner.next(omitted) {
      for entry in entries { try body(entry) }
    }
    return planner.plan
  }

  /// Plans the migration, and writes the plan to the journal, but not that the migration has begun.
  ///
  /// With a conflict it will not begin, and the journal does not need the rest of the plan.
  ///
  /// - Returns: The plan, and the last batch, which is to be written with the header.
  /// - Throws: As `Planner`; as changing the journal.
  mutating func writePlan() throws(StoreError) -> (plan: MigrationPlan, last: [StoreChange]) {
    var planner = try Planner(migration, header.options, digester, progress)
    var last: [StoreChange] = []
    var omissions = OmissionList(journal)
    while let entries = try planner.next({ omission throws(StoreError) in
      try omissions.add(omission)
    }) {
      guard planner.plan.conflictCount == 0 else { continue }
      try journal.store.apply(last)
      header.batchCount += 1
      last = try changes(for: entries)
    }
    last += try omissions.remaining()
    header.itemCount = planner.plan.copiedCount
    header.omittedCount = planner.plan.omittedCount
    header.damage = planner.plan.damage.map(MigrationJournal.StoredError.init)
    return (planner.plan, last)
  }

  private func changes(for entries: [MigrationPlan.Entry]) throws(StoreError) -> [StoreChange] {
    var failures: [Int: StoreError] = [:]
    for (position, entry) in entries.enumerated() {
      if case .impossible(let error) = entry.action { failures[position] = error }
    }
    let batch = MigrationBatch(
      entries.map { MigrationBatch.Entry(source: $0.source, target: $0.target, part: $0.part) })
    var changes = [try journal.change(of: batch, header.batchCount)]
    if !failures.isEmpty { changes += try journal.changes(to: failures, header.batchCount) }
    return changes
  }

  /// Begins the migration, whose plan was written but for its last batch.
  mutating func begin(_ last: [StoreChange]) throws(StoreError) {
    // The header is last, for a journal that is not atomic.
    try journal.store.apply(last + [journal.change(of: header)])
  }

  /// Does what remains to be done, and verifies everything.
  mutating func finish() throws(StoreError) -> MigrationReport {
    if header.phase == .copying { try copy() }
    let protections = try migration.protections()
    let digests = try verify()
    if header.phase == .copied {
      let isRemoved = header.options.deletesSource ? try remove() : true
      // Items that were left in the source because they were changed are checked again by resuming.
      if isRemoved { try change(to: .finished) }
    }
    return try MigrationReport(
      journal, header, source: digests.source, target: digests.target, protections)
  }

  // MARK: Common steps

  /// Returns how many items are changed at once: few in a store that is not atomic, where others
  /// see them one by one and each takes long.
  static func maximumChangeCount(_ stores: any SecretStore...) -> Int {
    stores.allSatisfy(\.traits.isAtomic) ? 1000 : 16
  }

  /// Changes the items that pass a last check.
  ///
  /// All of them are changed at once if the store is atomic, otherwise one after the other, so that
  /// little time passes between check and change.
  ///
  /// - Parameters:
  ///   - store: The store that is changed.
  ///   - copies: The items to change.
  ///   - check: Returns the change for an item with the values that both stores have now; `nil` if
  ///     it needs none. It throws when what the change is based on has changed.
  /// - Returns: Why items were left as they are, by position.
  /// - Throws: As the stores.
  func change(
    _ store: any SecretStore, _ copies: [MigrationBatch.Copy],
    _ check: (MigrationBatch.Copy, FoundValues) throws(StoreError) -> StoreChange?
  ) throws(StoreError) -> [Int: StoreError] {
    var left: [Int: StoreError] = [:]
    for part in copies.parts(of: store.traits.isAtomic ? .max : 1) {
      var values = ValuePairReader(migration, part)
      var changes: [ItemChange] = []
      for copy in part {
        let found = try values.next()
        switch try reading({ () throws(StoreError) in try check(copy, found) }) {
        case .success(let change?):
          changes.append(ItemChange(position: copy.position, change: change))
        case .success(nil): break
        case .failure(let error): left[copy.position] = error
        }
      }
      left.merge(try apply(changes, to: store)) { $1 }
    }
    return left
  }

  /// Makes changes together, or one after the other if the store refuses one of them.
  ///
  /// - Parameters:
  ///   - changes: The changes.
  ///   - store: The store that is changed.
  ///   - beforeParts: Called before the changes are made one after the other.
  /// - Returns: Why the store refused items, by position.
  /// - Throws: As the store; what the closure throws.
  func apply(
    _ changes: [ItemChange], to store: any SecretStore,
    beforeParts: () throws(StoreError) -> Void = {}
  ) throws(StoreError) -> [Int: StoreError] {
    do throws(StoreError) {
      try store.apply(changes.map(\.change))
      return [:]
    } catch {
      guard error.isRefusal else { throw error }
      guard changes.count > 1 else {
        return Dictionary(uniqueKeysWithValues: changes.map { ($0.position, error) })
      }
    }
    try beforeParts()
    var refused: [Int: StoreError] = [:]
    for change in changes {
      refused.merge(try apply([change], to: store)) { $1 }
    }
    return refused
  }

  func step(
    _ phase: Migration.Phase, _ done: Int, _ total: Int
  ) throws(StoreError) {
    try migration.step(progress, phase, done, total, byteCount)
  }

  mutating func change(to phase: MigrationJournal.Header.Phase) throws(StoreError) {
    header.phase = phase
    try journal.store.apply([journal.change(of: header)])
  }

  func changed(_ name: ItemName) -> StoreError {
    StoreError(
      .changed, store: "\(name)",
      reason: "it was changed during the migration, so it was left as it is")
  }

  /// Returns what a value of the source becomes in the target; `nil` if that is not what was
  /// migrated.
  func migratedValue(
    of value: SecretBytes, _ copy: MigrationBatch.Copy
  ) throws(StoreError) -> SecretBytes? {
    guard let item = try migration.item(copy.source, value, header.options),
      digester.digest(of: copy.target, item.value) == copy.digest
    else { return nil }
    return item.value
  }
}

/// What a source leaves out, written to the journal a thousand at a time.
private struct OmissionList {
  private let journal: MigrationJournal
  private var found: [Omission] = []
  private var writtenCount = 0

  init(_ journal: MigrationJournal) {
    self.journal = journal
  }

  mutating func add(_ omission: Omission) throws(StoreError) {
    found.append(omission)
    guard found.count == MigrationJournal.maximumOmittedCount else { return }
    try journal.store.apply(remaining())
    found = []
    writtenCount += 1
  }

  /// Returns the change for those that are not written yet.
  func remaining() throws(StoreError) -> [StoreChange] {
    found.isEmpty ? [] : [try journal.change(of: found, writtenCount + 1)]
  }
}

/// The change of an item of a batch.
struct ItemChange {
  let position: Int
  let change: StoreChange
}

extension MigrationBatch.Copy {
  /// Returns whether the target has what it had before, which may be no value.
  func isAsBefore(_ existing: SecretBytes?, _ digester: ItemDigester) -> Bool {
    switch prior {
    case .absent: existing == nil
    case .own: isMigrated(existing, digester)
    case .other(let digest): existing.map { digester.digest(of: target, $0) } == digest
    }
  }

  /// Returns whether a value is what was migrated.
  func isMigrated(_ existing: SecretBytes?, _ digester: ItemDigester) -> Bool {
    existing.map { digester.digest(of: target, $0) } == digest
  }
}

/// Runs a closure that reads, and returns an error that concerns only one item.
func reading<Value>(
  _ body: () throws(StoreError) -> Value
) throws(StoreError) -> Result<Value, StoreError> {
  do throws(StoreError) {
    return .success(try body())
  } catch let error where error.isOfOneItem {
    return .failure(error)
  }
}

extension Array {
  /// Returns the elements in order, in parts of a given count; the last part may have fewer.
  func parts(of maximumCount: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: maximumCount).map { dropFirst($0).prefix(maximumCount) }
  }
}
