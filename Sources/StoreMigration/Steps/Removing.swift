import SealedStore
import SecretStores

extension MigrationEngine {
  /// Removes from the source the items that were verified and have not changed since.
  ///
  /// - Returns: Whether every item that was to be removed was verified and removed.
  mutating func remove() throws(StoreError) -> Bool {
    let isWithinOneStore = try migration.isWithinOneStore()
    var (done, isComplete) = (0, true)
    for number in 0..<header.batchCount {
      let copies = try journal.batch(number + 1).copies
      var removals = BatchRemovals(
        number + 1, try journal.positions(of: .removed, number + 1),
        failed: try journal.positions(of: .failed, number + 1))
      let toRemove = copies.filter { copy in
        // Removing the item from the source would remove it from the target.
        !(isWithinOneStore && copy.source == copy.target) && removals.isToBeRemoved(copy)
      }
      done += copies.count - toRemove.count
      try remove(toRemove, &removals, &done)
      isComplete = isComplete && !copies.contains { removals.failed.contains($0.position) }
    }
    try step(.deleting, done, header.itemCount)
    return isComplete
  }

  private mutating func remove(
    _ copies: [MigrationBatch.Copy], _ removals: inout BatchRemovals, _ done: inout Int
  ) throws(StoreError) {
    let maximumCount = Self.maximumChangeCount(migration.source)
    var sources = ValueReader(migration.source, copies.map(\.source))
    for copy in copies {
      try step(.deleting, done, header.itemCount)
      done += 1
      if header.isTransformed {
        let value = try sources.nextResult()
        let read = try reading { () throws(StoreError) in
          try original(of: copy, value.get())
        }
        switch read {
        case .success(let original): removals.add(copy, original: original)
        case .failure(let error): removals.failures[copy.position] = error
        }
      } else {
        removals.add(copy)
      }
      if removals.isFull(maximumCount) { try write(&removals) }
    }
    try write(&removals)
  }

  /// Returns the value of an item in the source, if the target has another.
  ///
  /// - Throws: The reason why the item is not removed.
  private func original(
    of copy: MigrationBatch.Copy, _ value: SecretBytes?
  ) throws(StoreError) -> SecretBytes? {
    guard let value, let migrated = try migratedValue(of: value, copy) else {
      throw changed(copy.source)
    }
    return migrated == value ? nil : value
  }

  /// Records removals in the journal, then removes the items from the source.
  private func write(_ removals: inout BatchRemovals) throws(StoreError) {
    if !removals.pending.isEmpty {
      let originals = removals.originals
      var changes: [StoreChange] = []
      for copy in removals.pending where header.isTransformed {
        let name = try MigrationJournal.originalName(removals.number, copy.position)
        // An earlier removal that was not made may have left another value.
        changes.append(originals[copy.position].map { .put($0, for: name) } ?? .remove(name))
      }
      changes.append(
        try journal.change(of: .removed, to: removals.positions, removals.number))
      try journal.store.apply(changes)
      let failures = try change(migration.source, removals.pending) {
        copy, found throws(StoreError) in
        // The last check: since both were verified, the source may have got another value, which a
        // transform may change to the same one, and the target may have lost this one.
        guard let value = try found.source.get(),
          let migrated = try migratedValue(of: value, copy),
          value == originals[copy.position] ?? migrated
        else { throw changed(copy.source) }
        guard copy.isMigrated(try found.target.get(), digester) else {
          throw changed(copy.target)
        }
        return .remove(copy.source)
      }
      removals.keep(failures)
    }
    if !removals.failures.isEmpty {
      for position in removals.failed {
        removals.failures[position] = try journal.failure(removals.number, position)
      }
      try journal.store.apply(
        journal.changes(to: removals.failures, removals.number)
          + [journal.change(of: .removed, to: removals.positions, removals.number)])
    }
    removals.startNext()
  }
}

/// The items of a batch that are about to be removed from the source.
private struct BatchRemovals {
  /// The number of the batch.
  let number: Int
  /// The positions of all items that are removed, or about to be.
  private(set) var positions: Set<Int>
  /// The positions of the items that the journal has as failed.
  private(set) var failed: Set<Int>
  private(set) var pending: [MigrationBatch.Copy] = []
  /// The values of the source that the target has as others, by position.
  private(set) var originals: [Int: SecretBytes] = [:]
  /// The items that turned out to be changed, by position.
  var failures: [Int: StoreError] = [:]
  private var byteCount = 0

  init(_ number: Int, _ positions: Set<Int>, failed: Set<Int>) {
    self.number = number
    self.positions = positions
    self.failed = failed
  }

  /// Returns whether an item was verified, and is still in the source.
  func isToBeRemoved(_ copy: MigrationBatch.Copy) -> Bool {
    !failed.contains(copy.position) && !positions.contains(copy.position)
  }

  func isFull(_ maximumCount: Int) -> Bool {
    pending.count >= maximumCount || byteCount >= MigrationBatch.maximumByteCount
  }

  mutating func add(_ copy: MigrationBatch.Copy, original: SecretBytes? = nil) {
    positions.insert(copy.position)
    pending.append(copy)
    originals[copy.position] = original
    byteCount += original?.byteCount ?? 0
  }

  /// Takes back the removal of items that were changed.
  mutating func keep(_ failures: [Int: StoreError]) {
    positions.subtract(failures.keys)
    self.failures.merge(failures) { $1 }
  }

  mutating func startNext() {
    failed.formUnion(failures.keys)
    (pending, originals, failures, byteCount) = ([], [:], [:], 0)
  }
}
