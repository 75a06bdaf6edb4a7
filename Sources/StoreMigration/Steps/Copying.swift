import SealedStore
import SecretStores

/// The items that are about to be written to the target.
private struct PendingChange {
  /// An item, its value, and the value in the target that it replaces, if any.
  struct Item {
    let copy: MigrationBatch.Copy
    let value: SecretBytes
    let existing: SecretBytes?
  }

  private(set) var items: [Item] = []
  private var byteCount = 0
  /// How many items of the plan it stands for, with those that turned out to be changed.
  private(set) var count = 0

  func isFull(_ maximumCount: Int) -> Bool {
    count >= maximumCount || byteCount >= MigrationBatch.maximumByteCount
  }

  mutating func add(_ item: Item?) {
    count += 1
    guard let item else { return }
    items.append(item)
    byteCount += item.value.byteCount + (item.existing?.byteCount ?? 0)
  }
}

extension MigrationEngine {
  /// Copies the items that are not copied yet, batch by batch.
  mutating func copy() throws(StoreError) {
    var (number, start) = (1, 0)
    if let begun = header.begun {
      try finishChange(begun)
      (number, start) = (begun.batch, begun.positions.upperBound)
    }
    while number <= header.batchCount {
      try copyBatch(number, from: start)
      (number, start) = (number + 1, 0)
    }
    try step(.copying, header.begunCount, header.itemCount)
    try change(to: .copied)
  }

  private mutating func copyBatch(_ number: Int, from start: Int) throws(StoreError) {
    var batch = try journal.batch(number)
    let copies = batch.copies.filter { $0.position >= start }
    let maximumCount = Self.maximumChangeCount(migration.target)
    var sources = ValueReader(migration.source, copies.map(\.source))
    var targets = ValueReader(
      migration.target, copies.filter { $0.prior != .absent }.map(\.target))
    var pending = PendingChange()
    var first = start
    for copy in copies {
      do throws(StoreError) {
        try step(.copying, header.begunCount + pending.count, header.itemCount)
      } catch {
        // What was read is kept: reading it again may take long.
        if pending.count > 0 { try write(pending, number, first..<copy.position, &batch) }
        throw error
      }
      let value = try sources.nextResult()
      // An item that was absent is looked for again right before it is written.
      let existing = try copy.prior == .absent ? .success(nil) : targets.nextResult()
      let item = try reading { () throws(StoreError) in
        try self.item(copy, value.get(), over: existing.get())
      }
      // An item that was changed is reported when all items are verified.
      pending.add(try? item.get())
      guard pending.isFull(maximumCount) else { continue }
      try write(pending, number, first..<copy.position + 1, &batch)
      first = copy.position + 1
      pending = PendingChange()
    }
    if pending.count > 0 { try write(pending, number, first..<batch.entries.count, &batch) }
  }

  /// Returns an item to write, if its value and what the target has under its name are still as
  /// planned.
  private mutating func item(
    _ copy: MigrationBatch.Copy, _ value: SecretBytes?, over existing: SecretBytes?
  ) throws(StoreError) -> PendingChange.Item {
    guard let value, let migrated = try migratedValue(of: value, copy) else {
      throw changed(copy.source)
    }
    var copy = copy
    if let existing {
      // Only the value that the policy was applied to may be overwritten.
      if copy.isMigrated(existing, digester) {
        copy.prior = .own
      } else if copy.prior == .own || !copy.isAsBefore(existing, digester) {
        throw changed(copy.target)
      }
    } else {
      copy.prior = .absent
    }
    byteCount += migrated.byteCount
    return PendingChange.Item(
      copy: copy, value: migrated, existing: copy.prior == .own ? nil : existing)
  }

  /// Writes to the journal what is about to be changed, then changes the target.
  private mutating func write(
    _ pending: PendingChange, _ number: Int, _ positions: Range<Int>,
    _ batch: inout MigrationBatch
  ) throws(StoreError) {
    var changes: [StoreChange] = []
    for item in pending.items {
      guard let existing = item.existing else { continue }
      changes.append(
        .put(existing, for: try MigrationJournal.keptName(number, item.copy.position)))
    }
    if batch.correct(pending.items.map(\.copy), in: positions) {
      changes.append(try journal.change(of: batch, number))
    }
    header.begun = MigrationJournal.Begun(batch: number, positions: positions)
    header.begunCount += pending.count
    // Last, for a journal that is not atomic.
    changes.append(try journal.change(of: header))
    try journal.store.apply(changes)
    let written = pending.items.filter { $0.copy.prior != .own }
    var refused: [Int: StoreError] = [:]
    for part in written.parts(of: migration.target.traits.isAtomic ? .max : 1) {
      let change = try self.changes(for: part)
      let refusals = try apply(change, to: migration.target) { () throws(StoreError) in
        header.begun?.isInParts = true
        try journal.store.apply([journal.change(of: header)])
      }
      refused.merge(refusals) { $1 }
    }
    try note(refused, number)
  }

  /// Writes to the journal which items the target refused.
  private func note(_ refused: [Int: StoreError], _ number: Int) throws(StoreError) {
    guard !refused.isEmpty else { return }
    var failures = refused
    for position in try journal.positions(of: .failed, number) where failures[position] == nil {
      failures[position] = try journal.failure(number, position)
    }
    try journal.store.apply(try journal.changes(to: failures, number))
  }

  /// Returns the changes of the items under whose names the target has what it had when the journal
  /// was written.
  private func changes(
    for items: ArraySlice<PendingChange.Item>
  ) throws(StoreError) -> [ItemChange] {
    let taken = try takenNames(of: items.map(\.copy))
    func isAsked(_ copy: MigrationBatch.Copy) -> Bool { taken == nil || copy.prior != .absent }
    var targets = ValueReader(
      migration.target, items.map(\.copy).filter(isAsked).map(\.target))
    var changes: [ItemChange] = []
    for item in items {
      let isAsBefore: Bool
      if isAsked(item.copy) {
        let existing = try targets.nextResult()
        guard case .success(let existing) = existing else { continue }
        isAsBefore = item.copy.isAsBefore(existing, digester)
      } else {
        isAsBefore = !(taken?.contains(item.copy.target) ?? true)
      }
      if isAsBefore {
        changes.append(
          ItemChange(
            position: item.copy.position, change: .put(item.value, for: item.copy.target)))
      }
    }
    return changes
  }

  /// Returns which of the names that were free have items by now.
  ///
  /// `nil` when each name has to be asked for by itself: right before it is written, if the target
  /// is not atomic, or because one of the items is damaged.
  private func takenNames(
    of copies: [MigrationBatch.Copy]
  ) throws(StoreError) -> Set<ItemName>? {
    guard migration.target.traits.isAtomic, let target = migration.target as? any MigratableStore
    else { return nil }
    let free = copies.filter { $0.prior == .absent }.map(\.target)
    let taken = try reading { () throws(StoreError) in try target.present(among: free) }
    return try? taken.get()
  }

  /// Completes a change that was begun, except for items that were changed since.
  private func finishChange(_ begun: MigrationJournal.Begun) throws(StoreError) {
    let copies = try journal.batch(begun.batch).copies.filter {
      begun.positions.contains($0.position) && $0.prior != .own
    }
    if migration.target.traits.isAtomic, begun.isInParts != true {
      // If any item is there, all of them were written, and others removed those that are missing.
      var targets = ValueReader(migration.target, copies.map(\.target))
      for copy in copies {
        if case .success(let value) = try targets.nextResult(), copy.isMigrated(value, digester) {
          return
        }
      }
    }
    // Any other item that is left is reported when it is verified.
    let left = try change(migration.target, copies) { copy, found throws(StoreError) in
      // Nothing of an atomic change is made by now, and resuming begins it again.
      try migration.checkCancelled()
      guard let value = try found.source.get(), let migrated = try migratedValue(of: value, copy),
        copy.isAsBefore(try found.target.get(), digester)
      else { return nil }
      return .put(migrated, for: copy.target)
    }
    try note(left.filter(\.value.isRefusal), begun.batch)
  }
}

extension MigrationBatch {
  /// Corrects what the target has under the names of some items, before they are copied.
  ///
  /// - Parameters:
  ///   - copies: The items that are still as planned.
  ///   - positions: All items that were to be copied with them; the others were changed.
  /// - Returns: Whether anything was not as planned.
  fileprivate mutating func correct(_ copies: [Copy], in positions: Range<Int>) -> Bool {
    var priors: [Int: Prior] = [:]
    for copy in copies { priors[copy.position] = copy.prior }
    var isCorrected = false
    for position in positions {
      guard case .copied(let digest, let planned) = entries[position].part else { continue }
      let prior = priors[position] ?? .own
      guard prior != planned else { continue }
      entries[position].part = .copied(digest, over: prior)
      isCorrected = true
    }
    return isCorrected
  }
}
