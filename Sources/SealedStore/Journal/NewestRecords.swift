import SecretStores

/// The newest record of each item in a damaged journal.
struct NewestRecords {
  /// The records that have the values of the items, one for each.
  let values: [JournalSurvey.Found]
  /// The highest number of all records that count.
  let lastNumber: UInt64

  /// Takes for each item the record with the highest number, unless that is a removal.
  ///
  /// A record counts if its value opens, or if it is a removal of which any part opens: either
  /// part proves which item it is of. The last change behind the mark does not count unless it is
  /// whole: it may never have been confirmed. A removal that does not open also counts, if the
  /// chain confirms it.
  ///
  /// - Parameters:
  ///   - survey: The records of the journal.
  ///   - chained: The part that the chain confirms, if there is one.
  ///   - confirmedByteCount: The number of bytes of the file that are confirmed.
  ///   - isFirstChangeConfirmed: Whether the journal replaced another.
  init(
    _ survey: JournalSurvey, _ chained: ChainedPart?, confirmedByteCount: Int,
    isFirstChangeConfirmed: Bool
  ) {
    // The chain confirms which records have its numbers: another record with one of these numbers
    // belongs to a change that was dropped.
    var records = survey.counting.filter { record in
      guard let chained else { return true }
      return record.offset < chained.byteCount || record.prefix.number > chained.number
    }.sorted { ($0.prefix.number, $0.offset) < ($1.prefix.number, $1.offset) }
    // The first change of a journal that replaced another was synced before it had its name; a mark
    // goes at least as far.
    let lastConfirmed =
      isFirstChangeConfirmed && confirmedByteCount == 0 ? Self.lastOfFirstChange(survey) : 0
    records.removeSubrange(
      Self.endOfWholeChanges(
        records, from: records.count { $0.prefix.number <= lastConfirmed },
        behind: confirmedByteCount)...)
    var newest: [ItemTag: JournalSurvey.Found] = [:]
    for record in records { newest[record.prefix.tag] = record }
    values = newest.values.filter { record in
      guard !record.isRemoval else { return false }
      guard let chained, record.offset < chained.byteCount else { return true }
      return chained.index[record.prefix.tag] != nil
    }
    lastNumber = max(
      records.last?.prefix.number ?? 0, lastConfirmed == .max ? 0 : lastConfirmed)
  }

  /// Returns the highest number in the journal's first change; `.max` if nothing shows where it
  /// ends.
  ///
  /// Its last record may be lost, and the next one that is a change's last may be of another one.
  private static func lastOfFirstChange(_ survey: JournalSurvey) -> UInt64 {
    let prefixes = (survey.records + survey.partial).map(\.prefix)
    let last = prefixes.filter { $0.kind.contains(.last) }.map(\.number).min()
    let next = prefixes.filter { $0.kind.contains(.first) && $0.number > 1 }.map(\.number).min()
    return min(last ?? .max, next.map { $0 - 1 } ?? .max)
  }

  /// Returns where the last change begins if it is not whole; otherwise the end.
  ///
  /// - Parameters:
  ///   - records: The records in the order of their numbers.
  ///   - first: The first record that can belong to the change.
  ///   - byteCount: The number of bytes of the file that are confirmed.
  /// - Returns: A position among the records.
  private static func endOfWholeChanges(
    _ records: [JournalSurvey.Found], from first: Int, behind byteCount: Int
  ) -> Int {
    var (start, isWhole) = (records.count, true)
    while start > first, records[start - 1].offset >= byteCount {
      let prefix = records[start - 1].prefix
      if start == records.count {
        isWhole = prefix.kind.contains(.last)
      } else {
        // This record belongs to the change before: the last change has lost its beginning.
        if prefix.kind.contains(.last) { break }
        if prefix.number &+ 1 != records[start].prefix.number { isWhole = false }
      }
      start -= 1
      if prefix.kind.contains(.first) { return isWhole ? records.count : start }
    }
    return start
  }
}

extension NewestRecords {
  /// Returns the number behind which no item can have lost a newer record, if some are lost of
  /// which nothing else is known: an item with a later record has its newest value.
  ///
  /// - Parameters:
  ///   - count: The number of these records at least.
  ///   - survey: The records of the journal.
  ///   - chained: The part that the chain confirms, if there is one.
  ///   - mark: The mark, if it is right; without it, records may be missing at the end.
  /// - Returns: The number; 0 when no record is lost.
  func lastUnknownNumber(
    of count: Int, _ survey: JournalSurvey, _ chained: ChainedPart?, mark: Mark?
  ) -> UInt64 {
    guard let mark else { return .max }
    guard count > 0 else { return 0 }
    let authentic = survey.records + survey.partial
    let first = chained?.number ?? 0
    let numbers = Set(authentic.map(\.prefix.number).filter { $0 > first && $0 <= lastNumber })
    let missingCount = lastNumber - min(first, lastNumber) - UInt64(numbers.count)
    let isEndKnown = authentic.contains {
      $0.prefix.number == lastNumber && $0.offset + $0.prefix.recordByteCount == mark.byteCount
    }
    guard isEndKnown, UInt64(count) <= missingCount else { return .max }
    var number = lastNumber
    while number > first, numbers.contains(number) { number -= 1 }
    return number
  }
}
