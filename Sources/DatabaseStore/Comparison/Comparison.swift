package import Foundation
package import SealedStore
package import SecretStores

extension SealedDatabaseStore {
  /// Compares all rows with what the last comparison found, and keeps what this one finds.
  ///
  /// It notices what no process could know that has not seen the rows before: that rows, or the
  /// header, are older than they were, or vanished. It knows rows by their tags, versions and write
  /// identifiers, all of which are checked with the store's keys, and by its own clock. What an
  /// item was changed to after it was put back is not noticed, and neither is an item that vanished
  /// before the first comparison.
  ///
  /// A removal stays for an hour, so an item that vanished less than 50 minutes after a comparison
  /// was not removed by anyone with the keys. After that, it may have been: then it is only
  /// counted.
  ///
  /// What was found is found again by the next comparison, until the item is put again or the
  /// findings are accepted. Blocks for a round trip for each 700 rows, and uses 40 bytes of memory
  /// and of the file store for a row.
  ///
  /// - Parameters:
  ///   - keeper: The store that has what was found, which no one may write who can write to the
  ///     database.
  ///   - accepting: Whether the database is right as it is: for a restore that was intended.
  ///   - progress: Receives the progress.
  /// - Returns: What was found.
  /// - Throws: As ``names(in:)``, except for items that do not open; or an error of the file store.
  package func compare(
    with keeper: SealedFileStore, accepting: Bool = false, progress: Progress? = nil
  ) throws(StoreError) -> ComparisonReport {
    try compare(with: keeper, accepting: accepting, progress: progress, at: Date())
  }

  /// Compares at a time that a test sets.
  package func compare(
    with keeper: SealedFileStore, accepting: Bool, progress: Progress?, at time: Date
  ) throws(StoreError) -> ComparisonReport {
    let anchor = ComparisonAnchor(store: keeper, compared: keys.store)
    let last = try anchor.head()
    var comparison = Comparison(last, at: time)
    var headerNumber = try keys.renew(until: database.deadline).header.number
    if let last, headerNumber < last.headerNumber {
      comparison.report.findings.insert(.olderHeader)
      if !accepting { headerNumber = last.headerNumber }
    }
    try comparison.scan(self, progress)
    var kept: [ComparisonEntry] = []
    if let last { try anchor.forEach(last) { comparison.compare($0, keptIn: &kept) } }
    comparison.finishComparing()
    try comparison.nameOlderItems(self)
    let entries = accepting ? comparison.accepted : comparison.entries(keeping: kept)
    try anchor.replace(last, time: time, headerNumber: headerNumber, entries)
    return comparison.report
  }
}

/// A comparison that is under way.
private struct Comparison {
  var report = ComparisonReport()
  private let last: ComparisonAnchor.Head?
  private let time: Date
  /// The rows that open, by ascending tag after the scan.
  private var found: [ComparisonEntry] = []
  private var damaged: Set<RowTag> = []
  /// The rows that are older than they were.
  private var older: Set<RowTag> = []
  /// How many of the rows have been compared.
  private var position = 0

  /// How much older than a comparison the first version of a row may be that was not there: 10
  /// minutes for a put that a stopped server made late, and 10 for the clocks.
  private static let lateness: TimeInterval = 20 * 60

  /// The most rows for which memory is set aside before they are there: 400 MB.
  private static let maximumReserve = 10_000_000

  init(_ last: ComparisonAnchor.Head?, at time: Date) {
    self.last = last
    self.time = time
    report.lastTime = last?.time
  }

  mutating func scan(
    _ store: SealedDatabaseStore, _ progress: SealedDatabaseStore.Progress?
  ) throws(StoreError) {
    let total = try store.rowCount()
    // Not more, because the server may say anything.
    found.reserveCapacity(min(total, Self.maximumReserve))
    var pages = try RowPages(in: nil, of: store, withRemovals: true)
    while let page = try pages.next() {
      for row in page {
        switch row.opened {
        case .success:
          found.append(ComparisonEntry(row.fields))
          if !row.fields.isGone { report.itemCount += 1 }
        case .failure: note(damaged: row.fields.address.tag)
        }
      }
      progress?(found.count, max(found.count, total))
    }
    found.sort(by: ComparisonEntry.precedes)
  }

  private mutating func note(damaged tag: RowTag) {
    damaged.insert(tag)
    report.findings.insert(.damaged(tag: tag.bytes.hexadecimal))
  }

  /// Compares what was found with the next entry of the last comparison.
  mutating func compare(_ old: ComparisonEntry, keptIn kept: inout [ComparisonEntry]) {
    while position < found.count, ComparisonEntry.precedes(found[position], old) {
      checkAdded(found[position])
      position += 1
    }
    guard position < found.count, found[position].tag == old.tag else {
      compareMissing(old, keptIn: &kept)
      return
    }
    let new = found[position]
    position += 1
    let isSame = new.version == old.version && new.write == old.write && new.isGone == old.isGone
    if new.version < old.version || new.version == old.version && !isSame {
      older.insert(old.tag)
      kept.append(old)
    }
  }

  private mutating func compareMissing(_ old: ComparisonEntry, keptIn kept: inout [ComparisonEntry])
  {
    if damaged.contains(old.tag) {
      kept.append(old)
      return
    }
    // A removal is swept sooner or later.
    guard !old.isGone else { return }
    let passed = last.map { time.timeIntervalSince($0.time) } ?? 0
    guard old.isMissing || passed < Sweeper.certainty / .seconds(1) else {
      report.unexplainedCount += 1
      return
    }
    report.findings.insert(.missing(tag: old.tag.bytes.hexadecimal))
    var old = old
    old.isMissing = true
    kept.append(old)
  }

  /// Compares the rest of what was found, which is behind all entries of the last comparison.
  mutating func finishComparing() {
    guard last != nil else { return }
    while position < found.count {
      checkAdded(found[position])
      position += 1
    }
  }

  /// Checks that a row that was not there before was made since: its first version is the time.
  private mutating func checkAdded(_ entry: ComparisonEntry) {
    guard let last else { return }
    let earliest = last.time.addingTimeInterval(-Self.lateness).timeIntervalSince1970
    if Double(entry.version) < earliest * 1_000_000 { older.insert(entry.tag) }
  }

  /// Finds the names of what is older than it was.
  mutating func nameOlderItems(_ store: SealedDatabaseStore) throws(StoreError) {
    guard !older.isEmpty else { return }
    var pages = try RowPages(in: nil, of: store, withRemovals: true)
    while let page = try pages.next() {
      for row in page where older.contains(row.fields.address.tag) {
        if case .success(let name) = row.opened { report.findings.insert(.older(name)) }
      }
    }
  }

  /// What to keep when everything is right as it is.
  var accepted: [ComparisonEntry] { found }

  /// What to keep so that the next comparison finds the same again.
  func entries(keeping kept: [ComparisonEntry]) -> [ComparisonEntry] {
    guard !kept.isEmpty || !older.isEmpty else { return found }
    return (found.filter { !older.contains($0.tag) } + kept).sorted(by: ComparisonEntry.precedes)
  }
}

/// What a comparison of a database found.
package struct ComparisonReport: Hashable, Sendable {
  /// Something that no program with the keys did.
  package enum Finding: Hashable, Sendable {
    /// The item is older than in a comparison before, or was replaced by another one of the same
    /// age.
    case older(ItemName)
    /// The row with this tag, in hexadecimal digits, is missing, and was not removed.
    case missing(tag: String)
    /// The row with this tag, in hexadecimal digits, does not open.
    case damaged(tag: String)
    /// The header is older than in a comparison before: removed key slots may open the store again.
    case olderHeader
  }

  /// The number of items, without removed ones.
  package internal(set) var itemCount = 0
  /// When the comparison before this one began; `nil` when this is the first.
  package internal(set) var lastTime: Date?
  /// What was found, in no particular order.
  package internal(set) var findings: Set<Finding> = []
  /// The number of items that are missing and may have been removed: the comparison before this one
  /// was so long ago that removals may have been swept.
  package internal(set) var unexplainedCount = 0
}
