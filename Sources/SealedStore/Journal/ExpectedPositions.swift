/// The positions that a journal must pass: those at which it was seen or anchored before.
struct ExpectedPositions {
  /// The positions that were not reached yet, the next one last.
  private var ahead: [Mark]
  private var isContradicted = false
  /// Positions that no journal passes: the anchor is that of another journal.
  static var impossible: ExpectedPositions {
    var positions = none
    positions.isContradicted = true
    return positions
  }

  /// The length of the journal at the next position.
  private(set) var nextByteCount: Int

  /// No positions.
  static let none = ExpectedPositions([])

  init(_ marks: [Mark]) {
    ahead = marks.sorted { $0.byteCount > $1.byteCount }
    nextByteCount = ahead.last?.byteCount ?? .max
  }

  /// Passes the end of a change, or of the head.
  mutating func pass(_ end: JournalPosition) {
    while let next = ahead.last, next.byteCount <= end.byteCount {
      if !next.isMet(by: end) { isContradicted = true }
      ahead.removeLast()
    }
    nextByteCount = ahead.last?.byteCount ?? .max
  }

  /// Whether the journal passed all positions.
  var arePassed: Bool { ahead.isEmpty && !isContradicted }

  /// Returns whether the journal would have passed all positions with these further ends.
  func arePassed(after ends: [JournalPosition]) -> Bool {
    var positions = self
    for end in ends { positions.pass(end) }
    return positions.arePassed
  }
}
