/// Where a journal has to come by: how far it was seen, or anchored, before.
struct ExpectedPositions {
  /// Those that were not come to yet, the next one last.
  private var ahead: [Mark]
  private var isContradicted = false
  /// What no journal comes by: the anchor is that of another one.
  static var impossible: ExpectedPositions {
    var positions = none
    positions.isContradicted = true
    return positions
  }

  /// Where the next one is.
  private(set) var nextByteCount: Int

  /// Nothing to come by.
  static let none = ExpectedPositions([])

  init(_ marks: [Mark]) {
    ahead = marks.sorted { $0.byteCount > $1.byteCount }
    nextByteCount = ahead.last?.byteCount ?? .max
  }

  /// Takes the end of a change, or of the head.
  mutating func pass(_ end: JournalPosition) {
    guard end.byteCount >= nextByteCount else { return }
    while let next = ahead.last, next.byteCount <= end.byteCount {
      if !next.isMet(by: end) { isContradicted = true }
      ahead.removeLast()
    }
    nextByteCount = ahead.last?.byteCount ?? .max
  }

  /// Whether the journal came by all of them.
  var arePassed: Bool { ahead.isEmpty && !isContradicted }

  /// Whether it would have, if its ends were more of these as well.
  func arePassed(after ends: [JournalPosition]) -> Bool {
    var positions = self
    for end in ends { positions.pass(end) }
    return positions.arePassed
  }
}
