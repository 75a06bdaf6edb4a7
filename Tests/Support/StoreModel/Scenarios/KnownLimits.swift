extension Scenario {
  /// Scenarios that show what the protocol does not promise.
  package static let limits = [lostMark, uncommittedRead, fork, takenAway]

  /// The mark is again the one that an open reader last saw, so the reader detects no change.
  private static let lostMark = limit(
    "a mark that is lost before an open reader saw it",
    [[Script("R", [.read, .read]), Script("W", [.put, .put])]],
    breaks: "was confirmed or read"
  ) {
    $0.faults.lostMark = 1
    $0.faults.eviction = 1
  }

  /// A reader that cannot write counts changes on the disk only for itself: the mark does not
  /// change.
  private static let uncommittedRead = limit(
    "a reader that cannot write counts what an open reader does not see",
    [
      [
        Script("R", [.read, .read]), Script("W", [.put]),
        Script("S", [.read], access: .readOnly),
      ]
    ], breaks: "was confirmed or read"
  ) {
    $0.faults.kill = 1
  }

  /// The journals have no common past to compare.
  private static let fork = limit(
    "a store that is put back, written on as often as before, and compacted",
    [
      [
        Script("R", [.put, .read]), Script("X", [.keepCopy, .putBack(inPlace: true)]),
        Script("V", [.put, .compact]),
      ]
    ], breaks: "but the same open store had"
  ) {
    $0.pauses = 0
  }

  /// After a power cut the last change may be behind an old mark.
  private static let takenAway = limit(
    "the last change is taken away before the store is opened after a cut",
    [[Script("W", [.put])], [Script("X", [.tear(last: true)]), Script("A", [.read])]],
    breaks: "was confirmed or read")

  private static func limit(
    _ description: String, _ lives: [[Script]], breaks: String,
    _ adjust: (inout Scenario) -> Void = { _ in }
  ) -> Scenario {
    var scenario = Scenario(description, lives)
    scenario.expectation = .breaks(breaks)
    adjust(&scenario)
    return scenario
  }
}
