import SealedStore
import SessionToolsBase

extension MigrationEngine {
  /// Restores everything, the last batch first.
  mutating func undo() throws(StoreError) -> Migration.UndoReport {
    var report = Migration.UndoReport()
    // Items that were left because others had changed them stay as they are.
    if header.phase == .undone { return report }
    try change(to: .undoing)
    let batches = try batches()
    let total = batches.reduce(0) { $0 + $1.entries.count }
    var done = 0
    for number in (0..<header.batchCount).reversed() {
      try undoBatch(batches[number], number + 1, done, total, &report)
      done += batches[number].entries.count
      try step(.undoing, done, total)
    }
    try change(to: .undone)
    return report
  }

  private mutating func undoBatch(
    _ batch: MigrationBatch, _ number: Int, _ done: Int, _ total: Int,
    _ report: inout Migration.UndoReport
  ) throws(StoreError) {
    let removals = try journal.removals(number)
    let largestCount = Self.largestChangeCount(migration.source, migration.target)
    var returns = Returns()
    for (position, entry) in batch.entries.enumerated() {
      // What is only noted down by now is done when undoing is continued.
      try step(.undoing, done + position, total)
      let isRemoved = removals.contains(position)
      // The target had it before, and the source still has it.
      if entry.prior == .same, !isRemoved { continue }
      let added = try reading { () throws(StoreError) in
        try add(entry, number, position, isRemoved: isRemoved, to: &returns)
      }
      if case .failure(let error) = added { report.left.append((entry.target, error)) }
      if returns.isFull(largestCount) { try write(&returns, &report) }
    }
    try write(&returns, &report)
  }

  /// Adds the changes that restore one item.
  ///
  /// The target keeps the migrated value unless the source has, or is given, the value it was made
  /// from; otherwise the item might be in neither store.
  private func add(
    _ entry: MigrationBatch.Entry, _ batch: Int, _ position: Int, isRemoved: Bool,
    to returns: inout Returns
  ) throws(StoreError) {
    let existing = try migration.target.value(for: entry.target)
    let isMigrated = entry.isMigrated(existing, digester)
    if let value = try migration.source.value(for: entry.source) {
      // The target has nothing that the migration put there.
      if !isMigrated, entry.isAsBefore(existing, digester) { return }
      guard try migratedValue(of: value, entry) != nil else { throw changed(entry.source) }
    } else {
      guard isRemoved else {
        if isMigrated { throw changed(entry.source) }
        return
      }
      let key = try MigrationJournal.originalKey(batch, position)
      guard let original = try journal.store.value(for: key) ?? (isMigrated ? existing : nil)
      else { throw changed(entry.target) }
      returns.toSource.append((entry.source, original))
      returns.byteCount += original.byteCount
    }
    guard isMigrated else {
      if entry.isAsBefore(existing, digester) { return }
      throw changed(entry.target)
    }
    switch entry.prior {
    case .same: break
    case .absent: returns.toTarget.append((entry, nil))
    case .other:
      let key = try MigrationJournal.keptKey(batch, position)
      guard let kept = try journal.store.value(for: key) else { throw changed(entry.target) }
      returns.toTarget.append((entry, kept))
      returns.byteCount += kept.byteCount
    }
  }

  /// Writes items back to the source and compares them, and then restores the target.
  private func write(
    _ returns: inout Returns, _ report: inout Migration.UndoReport
  ) throws(StoreError) {
    try change(migration.source, returns.toSource) { item throws(StoreError) in
      try migration.source.contains(item.key) ? nil : .put(item.value, for: item.key)
    }
    for (key, value) in returns.toSource
    where try migration.source.value(for: key) != value {
      throw changed(key)
    }
    var (restored, removed) = (0, 0)
    try change(migration.target, returns.toTarget) { item throws(StoreError) in
      // Reading the source again may take long.
      try migration.checkCancelled()
      let (entry, kept) = item
      guard entry.isMigrated(try migration.target.value(for: entry.target), digester),
        let value = try migration.source.value(for: entry.source),
        try migratedValue(of: value, entry) != nil
      else {
        report.left.append((entry.target, changed(entry.target)))
        return nil
      }
      restored += 1
      if kept == nil { removed += 1 }
      return kept.map { .put($0, for: entry.target) } ?? .remove(entry.target)
    }
    report.returnedCount += returns.toSource.count
    report.restoredCount += restored
    report.removedCount += removed
    returns = Returns()
  }
}

/// The items that are about to be restored.
private struct Returns {
  var toSource: [(key: StoreKey, value: SecretBytes)] = []
  /// Each with the value that the target had before, if any.
  var toTarget: [(entry: MigrationBatch.Entry, kept: SecretBytes?)] = []
  var byteCount = 0

  func isFull(_ largestCount: Int) -> Bool {
    max(toSource.count, toTarget.count) >= largestCount
      || byteCount >= MigrationEngine.largestChangeByteCount
  }
}
