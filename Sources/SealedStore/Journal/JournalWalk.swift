import SessionToolsBase

/// A walk along the records of a journal, and how far its changes are whole.
struct JournalWalk {
  typealias Change = (start: Int, end: JournalPosition)

  /// The last whole change.
  private(set) var last: Change
  private var before: Change
  /// Where no other record followed.
  private(set) var breakByteCount: Int
  /// Why not.
  private(set) var reason = "the journal breaks off"
  private(set) var confirmed: ConfirmedPositions
  private var pending = PendingRecords()

  /// - Parameters:
  ///   - last: The change behind which the walk begins.
  ///   - positions: Where the journal was confirmed, as far as that is known.
  init(behind last: Change, confirmed positions: [JournalPosition]) {
    (self.last, before) = (last, last)
    breakByteCount = last.end.byteCount
    confirmed = ConfirmedPositions(positions, from: last.end)
  }

  /// The records of the last whole change.
  var lastChange: ArraySlice<PendingRecords.Element> { pending.lastChange }

  /// Whether the walk came by every confirmed position, and found there what was confirmed.
  var isAsConfirmed: Bool {
    var confirmed = confirmed
    confirmed.pass(last.end)
    return confirmed.contradicted == nil && confirmed.ahead.isEmpty
  }

  /// Goes as far as there are records.
  ///
  /// - Parameters:
  ///   - walker: Tells the records.
  ///   - live: Gets those of whole changes, but for the last change. That follows with
  ///     ``end(_:)``, since it may have to be dropped before.
  ///   - confirmedByteCount: Up to here, records go there before their change has ended: one
  ///     change may be as large as the whole journal. If the walk is not ``isAsConfirmed`` after
  ///     that, nothing in `live` counts.
  /// - Throws: `io`.
  mutating func go(
    along walker: inout JournalWalker, into live: inout LiveRecords,
    trustingFirst confirmedByteCount: Int
  ) throws(StoreError) {
    while true {
      breakByteCount = walker.position.byteCount
      guard let prefix = try walker.next() else { return }
      guard prefix.flags.contains(.first) != pending.isInChange else {
        reason = "a record is not where its change says"
        return
      }
      pending.append(prefix, at: breakByteCount)
      if prefix.flags.contains(.last) {
        // A change is synced before another follows, so only the last one can be torn.
        confirmed.pass(last.end)
        (before, last) = (last, (last.end.byteCount, walker.position))
        pending.endChange()
        pending.moveSettled(to: &live)
      }
      if walker.position.byteCount <= confirmedByteCount { pending.moveUnsettled(to: &live) }
    }
  }

  /// Drops the last whole change.
  ///
  /// - Parameter offset: Where its first record is that does not open.
  mutating func dropLastChange(tornAt offset: Int) {
    breakByteCount = offset
    last = before
    pending.dropLastChange()
  }

  /// Ends the walk with the last whole change.
  mutating func end(_ live: inout LiveRecords) {
    confirmed.pass(last.end)
    pending.moveAll(to: &live)
  }
}
