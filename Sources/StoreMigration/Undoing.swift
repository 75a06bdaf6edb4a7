import SealedStore
import SessionToolsBase

extension MigrationEngine {
  /// Restores everything, the last batch first.
  mutating func undo() throws(StoreError) -> Migration.UndoReport {
    var report = Migration.UndoReport(journal, header)
    // Items that were left because others had changed them stay as they are.
    if header.phase != .undone {
      try change(to: .undoing)
      var done = 0
      for number in (0..<header.batchCount).reversed() {
        try undoBatch(number + 1, &done, &report)
      }
      try step(.undoing, done, header.begunCount)
      try change(to: .undone)
    }
    for number in 0..<header.batchCount {
      report.leftCount += try journal.positions(of: .failed, number + 1).count
    }
    return report
  }

  private mutating func undoBatch(
    _ number: Int, _ done: inout Int, _ report: inout Migration.UndoReport
  ) throws(StoreError) {
    let begun = header.begun.map { begun in
      number < begun.batch ? .max : number == begun.batch ? begun.positions.upperBound : 0
    }
    let copies = try journal.batch(number).copies.filter { $0.position < begun ?? 0 }
    let removals = try journal.positions(of: .removed, number)
    let largestCount = Self.largestChangeCount(migration.source, migration.target)
    // The target had the others before, and the source still has them.
    let own = copies.filter { $0.prior == .own && !removals.contains($0.position) }
    let toUndo = copies.filter { $0.prior != .own || removals.contains($0.position) }
    done += own.count
    var values = ValuePairReader(migration, toUndo)
    var returns = Returns()
    for copy in toUndo {
      // What is only noted down by now is done when undoing is continued.
      try step(.undoing, done, header.begunCount)
      done += 1
      let found = try values.next()
      let added = try reading { () throws(StoreError) in
        try add(
          copy, found, number, isRemoved: removals.contains(copy.position), to: &returns)
      }
      if case .failure(let error) = added { returns.left[copy.position] = error }
      if returns.isFull(largestCount) { try write(&returns, &report) }
    }
    try write(&returns, &report)
    let recorded = try journal.positions(of: .failed, number)
    if !returns.left.isEmpty || !recorded.isEmpty {
      try journal.store.apply(try journal.changes(to: returns.left, number))
    }
  }

  /// Adds the changes that restore one item.
  ///
  /// The target keeps the migrated value unless the source has, or is given, the value it was made
  /// from; otherwise the item might be in neither store.
  private func add(
    _ copy: MigrationBatch.Copy, _ found: FoundValues, _ batch: Int, isRemoved: Bool,
    to returns: inout Returns
  ) throws(StoreError) {
    let existing = try found.target.get()
    let isMigrated = copy.isMigrated(existing, digester)
    if let value = try found.source.get() {
      // The target has nothing that the migration put there.
      if !isMigrated, copy.isAsBefore(existing, digester) { return }
      guard try migratedValue(of: value, copy) != nil else { throw changed(copy.source) }
    } else {
      guard isRemoved else {
        if isMigrated { throw changed(copy.source) }
        return
      }
      let key = try MigrationJournal.originalKey(batch, copy.position)
      guard let original = try journal.store.value(for: key) ?? (isMigrated ? existing : nil)
      else { throw changed(copy.target) }
      returns.give(copy, original)
    }
    guard isMigrated else {
      if copy.isAsBefore(existing, digester) { return }
      throw changed(copy.target)
    }
    switch copy.prior {
    case .own: break
    case .absent: returns.restore(copy, nil)
    case .other:
      let key = try MigrationJournal.keptKey(batch, copy.position)
      guard let kept = try journal.store.value(for: key) else { throw changed(copy.target) }
      returns.restore(copy, kept)
    }
  }

  /// Writes items back to the source and compares them, and then restores the target.
  private func write(
    _ returns: inout Returns, _ report: inout Migration.UndoReport
  ) throws(StoreError) {
    let (originals, kept) = (returns.originals, returns.kept)
    try change(migration.source, returns.toSource) { copy, found throws(StoreError) in
      guard try found.source.get() == nil, let original = originals[copy.position] else {
        return nil
      }
      return .put(original, for: copy.source)
    }
    var sources = ValueReader(migration.source, returns.toSource.map(\.source))
    for copy in returns.toSource where try sources.next() != originals[copy.position] {
      throw changed(copy.source)
    }
    var (restored, removed, left) = (0, 0, [Int: StoreError]())
    try change(migration.target, returns.toTarget) { copy, found throws(StoreError) in
      // Reading the source again may take long.
      try migration.checkCancelled()
      guard copy.isMigrated(try found.target.get(), digester),
        let value = try found.source.get(), try migratedValue(of: value, copy) != nil
      else {
        left[copy.position] = changed(copy.target)
        return nil
      }
      restored += 1
      guard let value = kept[copy.position] else {
        removed += 1
        return .remove(copy.target)
      }
      return .put(value, for: copy.target)
    }
    report.returnedCount += returns.toSource.count
    report.restoredCount += restored
    report.removedCount += removed
    returns.startNext(left)
  }
}

/// The items of a batch that are about to be restored.
private struct Returns {
  private(set) var toSource: [MigrationBatch.Copy] = []
  private(set) var toTarget: [MigrationBatch.Copy] = []
  /// The values that are given back to the source, by position.
  private(set) var originals: [Int: SecretBytes] = [:]
  /// The values that the target had before, by position.
  private(set) var kept: [Int: SecretBytes] = [:]
  /// The items of the batch that are left, by position.
  var left: [Int: StoreError] = [:]
  private var byteCount = 0

  func isFull(_ largestCount: Int) -> Bool {
    max(toSource.count, toTarget.count) >= largestCount
      || byteCount >= MigrationBatch.largestByteCount
  }

  mutating func give(_ copy: MigrationBatch.Copy, _ original: SecretBytes) {
    toSource.append(copy)
    originals[copy.position] = original
    byteCount += original.byteCount
  }

  mutating func restore(_ copy: MigrationBatch.Copy, _ value: SecretBytes?) {
    toTarget.append(copy)
    kept[copy.position] = value
    byteCount += value?.byteCount ?? 0
  }

  mutating func startNext(_ left: [Int: StoreError]) {
    self.left.merge(left) { $1 }
    (toSource, toTarget, originals, kept, byteCount) = ([], [], [:], [:], 0)
  }
}
