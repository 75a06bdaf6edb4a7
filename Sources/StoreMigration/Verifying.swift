import SealedStore
import SessionToolsBase

/// The digests of the values that were found on both sides.
struct FoundDigests {
  var source: [ItemDigest] = []
  var target: [ItemDigest] = []
}

extension MigrationEngine {
  /// Reads every item from both stores, compares them, and records the outcome of each.
  mutating func verify(_ batches: [MigrationBatch]) throws(StoreError) -> FoundDigests {
    let entries = batches.flatMap(\.entries)
    var sources = ValueReader(migration.source, entries.map(\.source))
    var targets = ValueReader(migration.target, entries.map(\.target))
    var digests = FoundDigests()
    var done = 0
    for (number, batch) in batches.enumerated() {
      outcomes.append([])
      outcomes[number].reserveCapacity(batch.entries.count)
      let removals = header.options.deletesSource ? try journal.removals(number + 1) : []
      for (position, entry) in batch.entries.enumerated() {
        try step(.verifying, done + position, entries.count)
        let source = try reading { () throws(StoreError) in try sources.next() }
        let target = try reading { () throws(StoreError) in try targets.next() }
        let compared = try reading { () throws(StoreError) in
          try outcome(
            of: entry, isRemoved: removals.contains(position), source, target, &digests)
        }
        switch compared {
        case .success(let outcome): outcomes[number].append(outcome)
        case .failure(let error): outcomes[number].append(.failed(error))
        }
      }
      done += batch.entries.count
      try step(.verifying, done, entries.count)
    }
    return digests
  }

  private mutating func outcome(
    of entry: MigrationBatch.Entry, isRemoved: Bool, _ source: Result<SecretBytes?, StoreError>,
    _ target: Result<SecretBytes?, StoreError>, _ digests: inout FoundDigests
  ) throws(StoreError) -> MigrationReport.Outcome {
    var (targetValue, targetDigest): (SecretBytes?, ItemDigest?) = (nil, nil)
    if case .success(let value?) = target {
      targetValue = value
      targetDigest = digester.digest(of: entry.target, value)
      byteCount += value.byteCount
    }
    if let targetDigest { digests.target.append(targetDigest) }
    let outcome: MigrationReport.Outcome
    if let value = try source.get() {
      guard let item = try migration.item(entry.source, value, header.options) else {
        throw changed(entry.source)
      }
      let digest =
        targetValue == item.value
        ? targetDigest : digester.digest(of: entry.target, item.value)
      if let digest { digests.source.append(digest) }
      outcome = digest == entry.digest ? .migrated : .failed(changed(entry.source))
    } else if isRemoved {
      // The digest of the value that was read before it was removed.
      digests.source.append(entry.digest)
      outcome = .moved
    } else {
      throw changed(entry.source)
    }
    _ = try target.get()
    guard targetDigest == entry.digest else { throw changed(entry.target) }
    return outcome
  }
}
