import SealedStore
import SecretStores

extension MigrationEngine {
  /// Restores everything, the last batch first; then only what was left.
  mutating func undo() throws(StoreError) -> Migration.UndoReport {
    var report = Migration.UndoReport(journal, header)
    if header.phase != .undoneInPart, header.phase != .undone { try change(to: .undoing) }
    var done = 0
    for number in (0..<header.batchCount).reversed() {
      try undoBatch(number + 1, &done, &report)
    }
    try step(.undoing, done, header.begunCount)
    try change(to: report.isComplete ? .undone : .undoneInPart)
    return report
  }

  private mutating func undoBatch(
    _ number: Int, _ done: inout Int, _ report: inout Migration.UndoReport
  ) throws(StoreError) {
    let begun = header.begun.map { begun in
      number < begun.batch ? .max : number == begun.batch ? begun.positions.upperBound : 0
    }
    let recorded = try journal.positions(of: .failed, number)
    let copies = try journal.batch(number).copies.filter { copy in
      // Items that were restored are no longer the migration's.
      copy.position < begun ?? 0
        && (header.phase == .undoing || recorded.contains(copy.position))
    }
    let removals = try journal.positions(of: .removed, number)
    let maximumCount = Self.maximumChangeCount(migration.source, migration.target)
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
      if returns.isFull(maximumCount) { try write(&returns, &report) }
    }
    try write(&returns, &report)
    report.leftCount += returns.left.count
    if !returns.left.isEmpty || !recorded.isEmpty {
      try journal.store.apply(try journal.changes(to: returns.left, number))
    }
  }

  /// Adds the changes that restore one item.
  ///
  /// The target keeps the migrated value unless the source has, or is given, the value it was made
  /// from; otherwise the item might be in neither store.
  ///
  /// - Throws: The reason why the item, or a part of it, is left.
  private func add(
    _ copy: MigrationBatch.Copy, _ found: FoundValues, _ batch: Int, isRemoved: Bool,
    to returns: inout Returns
  ) throws(StoreError) {
    let existing = try found.target.get()
    let isMigrated = copy.isMigrated(existing, digester)
    let isAsBefore = copy.isAsBefore(existing, digester)
    let kept = try isRemoved ? journal.original(batch, copy.position) : nil
    if let value = try found.source.get() {
      let isOriginal =
        if let kept { value == kept } else { try migratedValue(of: value, copy) != nil }
      // What others put into the source is not the migration's, unless it had removed the item.
      guard isOriginal || !isRemoved && !isMigrated && isAsBefore else {
        throw changed(copy.source)
      }
    } else if isRemoved {
      guard let original = kept ?? (isMigrated ? existing : nil) else { throw changed(copy.target) }
      returns.give(copy, original)
    } else if isMigrated {
      throw changed(copy.source)
    }
    // The target has nothing that the migration put there.
    if isAsBefore { return }
    guard isMigrated else { throw changed(copy.target) }
    switch copy.prior {
    case .own: break
    case .absent: returns.restore(copy, nil)
    case .other: returns.restore(copy, try journal.kept(batch, copy.position))
    }
  }

  /// Writes items back to the source and compares them, and then restores the target.
  private func write(
    _ returns: inout Returns, _ report: inout Migration.UndoReport
  ) throws(StoreError) {
    let (originals, kept) = (returns.originals, returns.kept)
    var left = try change(migration.source, returns.toSource) { copy, found throws(StoreError) in
      guard let value = try found.source.get() else {
        return originals[copy.position].map { .put($0, for: copy.source) }
      }
      guard value == originals[copy.position] else { throw changed(copy.source) }
      return nil
    }
    try compare(
      returns.toSource.map { ($0.position, $0.source, originals[$0.position]) },
      with: migration.source, &left)
    report.returnedCount += returns.toSource.count { left[$0.position] == nil }
    let notReturned = left
    left.merge(
      try change(migration.target, returns.toTarget) { copy, found throws(StoreError) in
        // Reading the source again may take long.
        try migration.checkCancelled()
        if let error = notReturned[copy.position] { throw error }
        guard let value = try found.source.get(), try migratedValue(of: value, copy) != nil
        else { throw changed(copy.source) }
        guard copy.isMigrated(try found.target.get(), digester) else {
          throw changed(copy.target)
        }
        guard let value = kept[copy.position] else { return .remove(copy.target) }
        return .put(value, for: copy.target)
      }
    ) { $1 }
    try compare(
      returns.toTarget.filter { left[$0.position] == nil }
        .map { ($0.position, $0.target, kept[$0.position]) },
      with: migration.target, &left)
    for copy in returns.toTarget where left[copy.position] == nil {
      report.restoredCount += 1
      if kept[copy.position] == nil { report.removedCount += 1 }
    }
    returns.startNext(left)
  }

  /// Adds the items that a store does not have as they were restored to those that are left.
  private func compare(
    _ items: [(position: Int, name: ItemName, value: SecretBytes?)], with store: any SecretStore,
    _ left: inout [Int: StoreError]
  ) throws(StoreError) {
    var values = ValueReader(store, items.map(\.name))
    for item in items {
      switch try values.nextResult() {
      case .success(item.value): break
      case .success: left[item.position] = left[item.position] ?? changed(item.name)
      case .failure(let error): left[item.position] = left[item.position] ?? error
      }
    }
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

  func isFull(_ maximumCount: Int) -> Bool {
    max(toSource.count, toTarget.count) >= maximumCount
      || byteCount >= MigrationBatch.maximumByteCount
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
