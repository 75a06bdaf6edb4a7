import SealedStore
import SessionToolsBase

/// The execution of a migration, which records each step in the journal before it takes it.
struct MigrationEngine {
  let migration: Migration
  var header: MigrationJournal.Header
  let digester: ItemDigester
  private let progress: Migration.Progress?
  /// The outcomes of items that are in no batch.
  var others: [MigrationReport.Entry] = []
  /// The outcomes of the items of each batch.
  var outcomes: [[MigrationReport.Outcome]] = []
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

  /// Plans what remains to be done.
  ///
  /// - Throws: As `Planner`.
  mutating func plan(
    besides done: [StoreKey: StoreKey] = [:]
  ) throws(StoreError) -> MigrationPlan {
    var planner = try Planner(migration, header.options, digester, besides: done, progress)
    let plan = try planner.plan()
    if let damage = plan.damage { header.damage = MigrationJournal.StoredError(damage) }
    return plan
  }

  /// Verifies the items that were copied, and removes them from the source if the options say so.
  mutating func finish() throws(StoreError) -> MigrationReport {
    let protections = try migration.protections()
    let batches = try batches()
    let digests = try verify(batches)
    if header.phase == .copied {
      let isRemoved = header.options.deletesSource ? try remove(batches) : true
      // Items that were left in the source because they were changed are checked again by resuming.
      if isRemoved { try change(to: .finished) }
    }
    let targetDigest = digester.digest(of: digests.target)
    let sourceDigest =
      digests.source == digests.target ? targetDigest : digester.digest(of: digests.source)
    var report = MigrationReport(
      entries: entries(of: batches), sourceDigest: sourceDigest.hexadecimal,
      targetDigest: targetDigest.hexadecimal, damage: header.damage?.error,
      before: protections.before, after: protections.after)
    for (batch, outcomes) in zip(batches, outcomes) {
      for (entry, outcome) in zip(batch.entries, outcomes) where outcome.isMigrated {
        switch entry.prior {
        case .absent: break
        case .same: report.sameCount += 1
        case .other: report.replacedCount += 1
        }
      }
    }
    return report
  }

  /// Finishes what was begun, and plans the rest again.
  mutating func resume() throws(StoreError) -> MigrationReport {
    guard header.phase == .copying else {
      others = try journal.outcomes(header.outcomeCount)
      return try finish()
    }
    if header.batchCount > 0 { try finishBatch(header.batchCount) }
    var done: [StoreKey: StoreKey] = [:]
    for entry in try batches().flatMap(\.entries) { done[entry.target] = entry.source }
    try copy(try plan(besides: done))
    return try finish()
  }

  /// Returns all items in the order of their names in the source.
  ///
  /// They are usually in this order already.
  private func entries(of batches: [MigrationBatch]) -> [MigrationReport.Entry] {
    var entries = others
    for (batch, outcomes) in zip(batches, outcomes) {
      for (entry, outcome) in zip(batch.entries, outcomes) {
        entries.append(
          MigrationReport.Entry(source: entry.source, target: entry.target, outcome: outcome))
      }
    }
    let isSorted = zip(entries, entries.dropFirst()).allSatisfy { $0.source < $1.source }
    return isSorted ? entries : entries.sorted { $0.source < $1.source }
  }

  // MARK: Common steps

  /// Returns how many items of a batch are changed at once: few in a store that is not atomic,
  /// where others see them one by one and each takes long.
  static func largestChangeCount(_ stores: any SecretStore...) -> Int {
    stores.allSatisfy(\.traits.isAtomic) ? 1000 : 16
  }

  /// Changes the items that pass a last check.
  ///
  /// All of them are changed at once if the store is atomic, otherwise one after the other, so that
  /// little time passes between check and change.
  ///
  /// - Parameters:
  ///   - store: The store that is changed.
  ///   - items: The items to change.
  ///   - look: Returns the change for an item, or `nil` if what the change is based on has changed.
  /// - Throws: As the stores. An item that cannot be read is left as it is.
  func change<Item>(
    _ store: any SecretStore, _ items: [Item],
    _ look: (Item) throws(StoreError) -> StoreChange?
  ) throws(StoreError) {
    for part in items.parts(of: store.traits.isAtomic ? .max : 1) {
      var changes: [StoreChange] = []
      for item in part {
        let change = try reading { () throws(StoreError) in try look(item) }
        if case .success(let change?) = change { changes.append(change) }
      }
      try store.apply(changes)
    }
  }

  /// The number of bytes from which on a change takes no more items.
  static let largestChangeByteCount = 4 << 20

  func batches() throws(StoreError) -> [MigrationBatch] {
    var batches: [MigrationBatch] = []
    for number in 0..<header.batchCount { batches.append(try journal.batch(number + 1)) }
    return batches
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

  func changed(_ key: StoreKey) -> StoreError {
    StoreError(
      .changed, store: "\(key)",
      reason: "it was changed during the migration, so it was left as it is")
  }

  /// Returns what a value of the source becomes in the target; `nil` if that is not what was
  /// migrated.
  func migratedValue(
    of value: SecretBytes, _ entry: MigrationBatch.Entry
  ) throws(StoreError) -> SecretBytes? {
    guard let item = try migration.item(entry.source, value, header.options),
      digester.digest(of: entry.target, item.value) == entry.digest
    else { return nil }
    return item.value
  }
}

extension MigrationBatch.Entry {
  /// Returns whether the target has what it had before, which may be no value.
  func isAsBefore(_ existing: SecretBytes?, _ digester: ItemDigester) -> Bool {
    switch prior {
    case .absent: existing == nil
    case .same: isMigrated(existing, digester)
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
