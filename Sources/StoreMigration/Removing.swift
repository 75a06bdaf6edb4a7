import SealedStore
import SessionToolsBase

extension MigrationEngine {
  /// Removes from the source the items that were verified and have not changed since.
  ///
  /// - Returns: Whether every item that was to be removed was verified and removed.
  mutating func remove(_ batches: [MigrationBatch]) throws(StoreError) -> Bool {
    let isWithinOneStore = try migration.isWithinOneStore()
    let largestCount = Self.largestChangeCount(migration.source)
    let total = batches.reduce(0) { $0 + $1.entries.count }
    var done = 0
    for (number, batch) in batches.enumerated() {
      var removals = BatchRemovals(try journal.removals(number + 1))
      for (position, entry) in batch.entries.enumerated() {
        try step(.deleting, done, total)
        done += 1
        // Removing the item from the source would remove it from the target.
        if isWithinOneStore, entry.source == entry.target { continue }
        guard case .migrated = outcomes[number][position] else { continue }
        let added = try reading { () throws(StoreError) in
          try add(entry, number + 1, position, to: &removals)
        }
        if case .failure(let error) = added {
          outcomes[number][position] = .failed(error)
        }
        guard removals.isFull(largestCount) else { continue }
        try write(&removals, number + 1)
      }
      try write(&removals, number + 1)
      try step(.deleting, done, total)
    }
    return !outcomes.joined().contains { if case .failed = $0 { true } else { false } }
  }

  private func add(
    _ entry: MigrationBatch.Entry, _ batch: Int, _ position: Int, to removals: inout BatchRemovals
  ) throws(StoreError) {
    guard let value = try migration.source.value(for: entry.source),
      let migrated = try migratedValue(of: value, entry)
    else { throw changed(entry.source) }
    let original = migrated == value ? nil : value
    removals.add(
      entry, position,
      original: try original.map { value throws(StoreError) in
        .put(value, for: try MigrationJournal.originalKey(batch, position))
      }, byteCount: original?.byteCount ?? 0)
  }

  /// Records removals in the journal, then removes the items from the source.
  private mutating func write(_ removals: inout BatchRemovals, _ batch: Int) throws(StoreError) {
    guard !removals.pending.isEmpty else { return }
    var failures: [Int: StoreError] = [:]
    try journal.store.apply(
      removals.originals + [try journal.change(ofRemovals: removals.positions, batch)])
    try change(migration.source, removals.pending) { item throws(StoreError) in
      // The last check: since both were verified, the source may have got another value, and the
      // target may have lost this one.
      let (position, entry) = item
      let isAsBefore = try reading { () throws(StoreError) in
        guard let value = try migration.source.value(for: entry.source),
          try migratedValue(of: value, entry) != nil
        else { throw changed(entry.source) }
        guard entry.isMigrated(try migration.target.value(for: entry.target), digester) else {
          throw changed(entry.target)
        }
      }
      if case .failure(let error) = isAsBefore {
        failures[position] = error
        return nil
      }
      return .remove(entry.source)
    }
    for (position, _) in removals.pending {
      outcomes[batch - 1][position] = failures[position].map { .failed($0) } ?? .moved
    }
    removals.startNext()
  }
}

/// The items that are about to be removed from the source.
private struct BatchRemovals {
  /// The positions of all items of the batch that are removed, or about to be.
  private(set) var positions: Set<Int>
  private(set) var pending: [(position: Int, entry: MigrationBatch.Entry)] = []
  private(set) var originals: [StoreChange] = []
  private var byteCount = 0

  init(_ positions: Set<Int>) {
    self.positions = positions
  }

  func isFull(_ largestCount: Int) -> Bool {
    pending.count >= largestCount || byteCount >= MigrationEngine.largestChangeByteCount
  }

  mutating func add(
    _ entry: MigrationBatch.Entry, _ position: Int, original: StoreChange?, byteCount: Int
  ) {
    positions.insert(position)
    pending.append((position, entry))
    if let original { originals.append(original) }
    self.byteCount += byteCount
  }

  mutating func startNext() {
    (pending, originals, byteCount) = ([], [], 0)
  }
}
