import SealedStore
import SessionToolsBase

/// The items that are about to be written to the target.
private struct PendingBatch {
  /// An item, its value, and the value in the target that it replaces, if any.
  struct Item {
    let entry: MigrationBatch.Entry
    let value: SecretBytes
    let existing: SecretBytes?
  }

  private(set) var items: [Item] = []
  private var byteCount = 0

  var batch: MigrationBatch { MigrationBatch(items.map(\.entry)) }

  func isFull(_ largestCount: Int) -> Bool {
    items.count >= largestCount || byteCount >= MigrationEngine.largestChangeByteCount
  }

  mutating func add(
    _ entry: MigrationBatch.Entry, _ value: SecretBytes, over existing: SecretBytes?
  ) {
    items.append(Item(entry: entry, value: value, existing: existing))
    byteCount += entry.source.canonicalByteCount + entry.target.canonicalByteCount
    byteCount += value.byteCount + (existing?.byteCount ?? 0)
  }
}

extension MigrationEngine {
  /// Copies the items of a plan, batch by batch.
  mutating func copy(_ plan: MigrationPlan) throws(StoreError) {
    let entries = plan.entries.filter { $0.seen != nil }
    for entry in plan.entries where entry.seen == nil { tell(entry.outcome, of: entry) }
    let largestCount = Self.largestChangeCount(migration.target)
    // A value that changed since is reported when all items are verified.
    var sources = ValueReader(migration.source, entries.map(\.source), known: plan.values)
    var pending = PendingBatch()
    for (number, entry) in entries.enumerated() {
      do throws(StoreError) {
        try step(.copying, number, entries.count)
      } catch {
        // What was read is kept: reading it again may take long.
        if !pending.items.isEmpty { try write(pending) }
        throw error
      }
      let value = try reading { () throws(StoreError) in try sources.next() }
      let added = try reading { () throws(StoreError) in
        try add(entry, try value.get(), to: &pending)
      }
      if case .failure(let error) = added {
        tell(.failed(error), of: entry)
      }
      guard pending.isFull(largestCount) else { continue }
      try write(pending)
      pending = PendingBatch()
    }
    if !pending.items.isEmpty { try write(pending) }
    try step(.copying, entries.count, entries.count)
    header.outcomeCount = try journal.write(outcomes: others)
    try change(to: .copied)
  }

  private mutating func tell(
    _ outcome: MigrationReport.Outcome, of entry: MigrationPlan.Entry
  ) {
    others.append(
      MigrationReport.Entry(source: entry.source, target: entry.target, outcome: outcome))
  }

  /// Adds an item, if its value and what the target has under its name are still as planned.
  private mutating func add(
    _ entry: MigrationPlan.Entry, _ value: SecretBytes?, to pending: inout PendingBatch
  ) throws(StoreError) {
    guard let seen = entry.seen else { return }
    guard let value, let item = try migration.item(entry.source, value, header.options),
      digester.digest(of: entry.target, item.value) == seen.digest
    else { throw changed(entry.source) }
    // An item that was absent is looked for again right before it is written.
    let existing = seen.existing == nil ? nil : try migration.target.value(for: entry.target)
    let found = existing.map { digester.digest(of: entry.target, $0) }
    let prior: MigrationBatch.Prior
    if found == seen.digest {
      prior = .same
    } else if let found {
      // Only the value that the policy was applied to may be overwritten.
      guard case .overwrite = entry.action, found == seen.existing else {
        throw changed(entry.target)
      }
      prior = .other(found)
    } else {
      prior = .absent
    }
    byteCount += item.value.byteCount
    pending.add(
      MigrationBatch.Entry(
        source: entry.source, target: entry.target, digest: seen.digest, prior: prior),
      item.value, over: prior == .same ? nil : existing)
  }

  /// Writes a batch to the journal, then to the target.
  private mutating func write(_ pending: PendingBatch) throws(StoreError) {
    header.batchCount += 1
    var changes: [StoreChange] = []
    for (position, item) in pending.items.enumerated() {
      guard let existing = item.existing else { continue }
      changes.append(
        .put(existing, for: try MigrationJournal.keptKey(header.batchCount, position)))
    }
    changes.append(try journal.change(of: pending.batch, header.batchCount))
    // Last, for a journal that is not atomic: the header states that the batch is there.
    changes.append(try journal.change(of: header))
    try journal.store.apply(changes)
    let written = pending.items.filter { $0.entry.prior != .same }
    let taken = try takenNames(of: written.map(\.entry))
    try change(migration.target, written) { item throws(StoreError) in
      try isAsBefore(item.entry, taken) ? .put(item.value, for: item.entry.target) : nil
    }
  }

  /// Returns which of the names that were free have items by now.
  ///
  /// `nil` when each name has to be asked for by itself: right before it is written, if the target
  /// is not atomic, or because one of the items is damaged.
  private func takenNames(
    of entries: [MigrationBatch.Entry]
  ) throws(StoreError) -> Set<StoreKey>? {
    guard migration.target.traits.isAtomic, let target = migration.target as? any MigratableStore
    else { return nil }
    let free = entries.filter { $0.prior == .absent }.map(\.target)
    let taken = try reading { () throws(StoreError) in try target.present(among: free) }
    return try? taken.get()
  }

  /// Returns whether the target has what it had when the batch was written to the journal.
  ///
  /// - Parameters:
  ///   - entry: The item.
  ///   - taken: Which of the names that were free have items by now; `nil` to ask the target.
  /// - Returns: Whether the item may be written.
  /// - Throws: As reading the target.
  private func isAsBefore(
    _ entry: MigrationBatch.Entry, _ taken: Set<StoreKey>? = nil
  ) throws(StoreError) -> Bool {
    if entry.prior == .absent {
      if let taken { return !taken.contains(entry.target) }
      return try !migration.target.contains(entry.target)
    }
    return entry.isAsBefore(try migration.target.value(for: entry.target), digester)
  }

  /// Completes a batch that was begun, except for items that were changed since.
  func finishBatch(_ number: Int) throws(StoreError) {
    let entries = try journal.batch(number).entries.filter { $0.prior != .same }
    if migration.target.traits.isAtomic {
      // If any item is there, all of them were written, and others removed those that are missing.
      for entry in entries {
        let isThere = try reading { () throws(StoreError) in
          entry.isMigrated(try migration.target.value(for: entry.target), digester)
        }
        if case .success(true) = isThere { return }
      }
    }
    try change(migration.target, entries) { entry throws(StoreError) in
      // Nothing of an atomic change is made by now, and resuming begins the batch again.
      try migration.checkCancelled()
      // An item that cannot be read now is reported when it is verified.
      guard let value = try migration.source.value(for: entry.source),
        let migrated = try migratedValue(of: value, entry), try isAsBefore(entry)
      else { return nil }
      return .put(migrated, for: entry.target)
    }
  }
}

extension MigrationPlan.Entry {
  /// The outcome that is reported for an item that is not migrated.
  fileprivate var outcome: MigrationReport.Outcome {
    switch action {
    case .leave: .left
    case .impossible(let error): .failed(error)
    case .conflict:
      .failed(
        StoreError(
          .alreadyExists, store: "\(target)",
          reason: "the target has another value under that name"))
    case .copy, .equal, .overwrite, .skip, .keepBoth: .skipped
    }
  }
}
