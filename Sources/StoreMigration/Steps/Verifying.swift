import SealedStore
import SecretStores

extension MigrationEngine {
  /// Reads every item from both stores, compares them, and records in the journal which are not
  /// migrated.
  ///
  /// - Returns: One digest of what was found in each store.
  mutating func verify() throws(StoreError) -> (source: ItemDigest, target: ItemDigest) {
    var (source, target) = (digester.digest(of: nil, []), digester.digest(of: nil, []))
    var done = 0
    for number in 0..<header.batchCount {
      let found = try verifyBatch(number + 1, &done)
      source = digester.digest(of: source, found.source)
      target = digester.digest(of: target, found.target)
    }
    try step(.verifying, done, header.itemCount)
    return (source, target)
  }

  private mutating func verifyBatch(
    _ number: Int, _ done: inout Int
  ) throws(StoreError) -> FoundDigests {
    let copies = try journal.batch(number).copies
    let recordedFailures = try journal.positions(of: .failed, number)
    let recordedRemovals = try journal.positions(of: .removed, number)
    var (failures, removals): ([Int: StoreError], Set<Int>) = ([:], recordedRemovals)
    var values = ValuePairReader(migration, copies)
    var digests = FoundDigests()
    for copy in copies {
      try step(.verifying, done, header.itemCount)
      done += 1
      let found = try values.next()
      let compared = try reading { () throws(StoreError) in
        try compare(copy, found, &removals, &digests)
      }
      if case .failure(let error) = compared {
        let isRecorded = recordedFailures.contains(copy.position)
        let recorded = try isRecorded ? journal.failure(number, copy.position) : error
        // An item that the target refused is missing for that reason.
        failures[copy.position] = recorded.isRefusal ? recorded : error
      }
    }
    // Those of items that could not be planned for stay.
    for position in recordedFailures.subtracting(copies.map(\.position)) {
      failures[position] = try journal.failure(number, position)
    }
    var changes: [StoreChange] = []
    if removals != recordedRemovals {
      changes.append(try journal.change(of: .removed, to: removals, number))
    }
    // The reasons may be others by now.
    if !failures.isEmpty || !recordedFailures.isEmpty {
      changes += try journal.changes(to: failures, number)
    }
    try journal.store.apply(changes)
    return digests
  }

  /// - Throws: The reason why an item does not count as migrated.
  private mutating func compare(
    _ copy: MigrationBatch.Copy, _ found: FoundValues, _ removals: inout Set<Int>,
    _ digests: inout FoundDigests
  ) throws(StoreError) {
    var (targetValue, targetDigest): (SecretBytes?, ItemDigest?) = (nil, nil)
    var isInSource = false
    if case .success(let value?) = found.target {
      targetValue = value
      targetDigest = digester.digest(of: copy.target, value)
      byteCount += value.byteCount
    }
    if let targetDigest { digests.target.append(targetDigest) }
    if let value = try found.source.get() {
      guard let item = try migration.item(copy.source, value, header.options) else {
        throw changed(copy.source)
      }
      let digest =
        targetValue == item.value
        ? targetDigest : digester.digest(of: copy.target, item.value)
      if let digest { digests.source.append(digest) }
      guard digest == copy.digest else { throw changed(copy.source) }
      isInSource = true
    } else if removals.contains(copy.position) {
      // The digest of the value that was read before it was removed.
      digests.source.append(copy.digest)
    } else {
      throw changed(copy.source)
    }
    _ = try found.target.get()
    guard targetDigest == copy.digest else { throw changed(copy.target) }
    guard isInSource, removals.contains(copy.position) else { return }
    guard header.phase != .finished else {
      throw StoreError(
        .changed, store: "\(copy.source)",
        reason: "it was put back into the source after it was removed",
        remedy: "Resume the migration with the removal of the items to remove it again")
    }
    // It was only about to be removed, or is to be removed again.
    removals.remove(copy.position)
  }
}

/// The digests of the values of a batch that were found on both sides.
private struct FoundDigests {
  var source: [ItemDigest] = []
  var target: [ItemDigest] = []
}
