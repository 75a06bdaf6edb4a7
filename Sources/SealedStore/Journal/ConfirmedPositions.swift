/// Where a journal is known to have been confirmed: what its mark says, and its anchor.
struct ConfirmedPositions {
  /// Those that a walk has not come to yet, the next one last.
  private(set) var ahead: [JournalPosition]
  /// The first one at which the walk found something else.
  private(set) var contradicted: JournalPosition?
  private var nextByteCount: Int

  /// - Parameters:
  ///   - positions: The positions, in any order.
  ///   - start: Where the walk begins. What is before it was compared by an earlier walk.
  init(_ positions: [JournalPosition], from start: JournalPosition) {
    let isLookedAtBefore = start.number > 0
    ahead = positions.filter { !isLookedAtBefore || $0.byteCount >= start.byteCount }
      .sorted { $0.byteCount > $1.byteCount }
    nextByteCount = ahead.last?.byteCount ?? .max
    pass(start)
  }

  /// Takes the end of a whole change.
  mutating func pass(_ end: JournalPosition) {
    guard end.byteCount >= nextByteCount else { return }
    while let next = ahead.last, next.byteCount <= end.byteCount {
      if next != end { contradicted = contradicted ?? next }
      ahead.removeLast()
    }
    nextByteCount = ahead.last?.byteCount ?? .max
  }
}
