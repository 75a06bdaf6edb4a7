extension Scenario {
  /// A scenario for each rule with a store that omits it, and the resulting violation.
  package static let leftOut: [Scenario] =
    openingRules + recoveryRules + writingRules + rewritingRules + readingRules

  /// Makes a scenario without one rule.
  private static func without(
    _ rule: WritableKeyPath<Rules, Bool>, _ description: String, _ lives: [[Script]],
    breaks: String, _ adjust: (inout Scenario) -> Void = { _ in }
  ) -> Scenario {
    var scenario = Scenario(description, lives)
    scenario.rules = .without(rule)
    scenario.expectation = .breaks(breaks)
    scenario.pauses = 1
    adjust(&scenario)
    return scenario
  }

  private static let openingRules = [
    without(
      \.openerWaits, "an opener does not wait for the lock", [[Script("W", [.put])], openers],
      breaks: "was confirmed or read"),
    without(
      \.waitsForHigherMark, "a waiting opener takes any other mark",
      [[Script("W", [.put, .put]), Script("R", [.read])]], breaks: "was confirmed or read"
    ) {
      $0.faults.lostMark = 1
      $0.faults.eviction = 1
      $0.pauses = 2
    },
    without(
      \.checksPredecessor, "the predecessor in the head is not compared",
      [[Script("V", [.compact]), Script("W", [.put])]], breaks: "gives"
    ) {
      $0.initialChangeCount = 1
      $0.faults.rename = 1
      $0.hasSplices = true
    },
    without(
      \.requiresFirstChangeWhole, "the first change of a new journal may be missing",
      [[Script("W", [.compact])]], breaks: "gives"
    ) {
      $0.initialChangeCount = 1
      $0.faults.kill = 1
      $0.hasSplices = true
    },
    without(
      \.opensLastChange, "the last change counts although a value is torn",
      [[Script("W", [.put])], openers], breaks: "does not open"
    ) {
      $0.shape = [4]
    },
    without(
      \.searchesBehindBreak, "bytes behind a break are dropped without a search",
      [[Script("W", [.put, .put])], [Script("X", [.tear(last: false)]), Script("A", [.read])]],
      breaks: "was confirmed or read"
    ) {
      $0.faults.cutsOnlyAtRest = true
    },
  ]

  private static let recoveryRules = [
    without(
      \.recoversBeforeWriting, "a writer overwrites changes behind the mark",
      [[Script("W", [.put])], writerAndOpener], breaks: "was confirmed or read"),
    without(
      \.writesAgain, "the last change is synced but not written again",
      [[Script("W", [.put, .read])], openers], breaks: "journalDoesNotMeetMark"
    ) {
      $0.faults.journalSync = 1
    },
    without(
      \.writesFromMemory, "the last change is written again from the file",
      [[Script("W", [.put, .read, .close, .read])]], breaks: "corrupt without an attacker"
    ) {
      $0.faults.journalSync = 1
      $0.faults.eviction = 1
    },
    without(
      \.replacesDropped, "a dropped change is only cut off",
      [
        [
          Script("V", [.put]), Script("X", [.tear(last: true), .putChangeBack]),
          Script("R", [.read]),
          Script("S", [.read]),
        ]
      ], breaks: "was dropped"
    ) {
      $0.faults.kill = 1
      $0.pauses = 0
    },
    without(
      \.recoverySyncsDirectory, "recovery marks a journal whose name is not durable",
      [[Script("V", [.compact]), Script("W", [.put]), Script("R", [.read])], openers],
      breaks: "markOfAnotherJournal"
    ) {
      $0.initialChangeCount = 1
      $0.faults.kill = 2
      $0.pauses = 0
    },
  ]

  private static let writingRules = [
    without(
      \.syncsJournal, "the mark is written before the journal is synced",
      [[Script("W", [.put])], openers], breaks: "journalDoesNotMeetMark"),
    without(
      \.syncsDirectoryBeforeMark, "a change marks a journal whose name is not durable",
      [[Script("V", [.compact]), Script("W", [.put])], openers], breaks: "markOfAnotherJournal"
    ) {
      $0.initialChangeCount = 1
      $0.faults.kill = 1
      $0.pauses = 0
    },
    without(
      \.failsWithMark, "a change is confirmed although its mark was not written",
      [[Script("W", [.put]), Script("R", [.read, .read])]], breaks: "was confirmed or read"
    ) {
      $0.faults.markWrite = 1
    },
    without(
      \.checksOwnEnd, "a writer does not check for its own last record",
      [
        [
          Script("W", [.put, .put, .put]), Script("X", [.keepCopy, .putBack(inPlace: true)]),
          Script("V", [.put, .put]),
        ]
      ], breaks: "but the same open store had"
    ) {
      $0.pauses = 0
    },
  ]

  private static let rewritingRules = [
    without(
      \.syncsNextJournal, "a journal is put in place before it is synced",
      [[Script("W", [.compact])], openers], breaks: "corrupt without an attacker"
    ) {
      $0.initialChangeCount = 1
    },
    without(
      \.syncsMark, "the mark is not synced before the rename",
      [[Script("W", [.put, .compact])], openers], breaks: "markOfAnotherJournal"),
    without(
      \.writesMarkAgain, "the mark is synced but not written again",
      [[Script("W", [.put, .compact, .compact])], openers], breaks: "markOfAnotherJournal"
    ) {
      $0.faults.markSync = 1
    },
    without(
      \.syncsRename, "the new journal is marked before its name is durable",
      [[Script("W", [.compact])], openers], breaks: "markOfAnotherJournal"
    ) {
      $0.initialChangeCount = 1
    },
    without(
      \.rewritesAsOneChange, "a rewriting is one change per item",
      [[Script("W", [.compact])]], breaks: "gives"
    ) {
      $0.initialChangeCount = 2
      $0.faults.kill = 1
      $0.hasSplices = true
    },
    without(
      \.syncsNextHeader, "header.next is not synced before the new journal is put in place",
      [[Script("W", [.rotate])], openers], breaks: "journalOfAnotherKey"
    ) {
      $0.initialChangeCount = 1
    },
    without(
      \.syncsNextHeaderName, "the name header.next is not synced before the rename",
      [[Script("W", [.rotate])], openers], breaks: "journalOfAnotherKey"
    ) {
      $0.initialChangeCount = 1
      $0.nameOrder = .any
    },
    without(
      \.finishingSyncsDirectory, "a rotation is finished before its journal's name is durable",
      [[Script("V", [.rotate]), Script("W", [.put])], openers], breaks: "journalOfAnotherKey"
    ) {
      $0.initialChangeCount = 1
      $0.faults.kill = 1
      $0.pauses = 0
      $0.nameOrder = .any
    },
    without(
      \.removingSyncsDirectory, "header.next is removed before the header is durable",
      [[Script("V", [.rotate]), Script("W", [.put])], openers], breaks: "journalOfAnotherKey"
    ) {
      $0.initialChangeCount = 1
      $0.faults.kill = 1
      $0.pauses = 0
      $0.nameOrder = .any
    },
    without(
      \.repairMakesMark, "a repair leaves an invalid mark",
      [[Script("D", [.damageMark]), Script("W", [.repair]), Script("R", [.read])]],
      breaks: "corrupt without an attacker"
    ) {
      $0.initialChangeCount = 1
    },
    without(
      \.repairSyncsMark, "a repair does not sync the existing mark",
      [
        [Script("W", [.put, .repair]), Script("D", [.damageRecord])],
        [Script("A", [.read])],
      ], breaks: "markOfAnotherJournal"
    ) {
      $0.initialChangeCount = 1
    },
    without(
      \.repairWaits, "a repair returns before open readers have checked the names",
      [[Script("R", [.read, .read]), Script("D", [.damageMark]), Script("W", [.repair, .put])]],
      breaks: "was confirmed or read"
    ) {
      $0.initialChangeCount = 1
    },
  ]

  private static let readingRules = [
    without(
      \.neverGoesBack, "an open reader accepts every mark",
      [
        [
          Script("R", [.read, .read]), Script("W", [.put]),
          Script("X", [.keepCopy, .putBack(inPlace: true)]),
        ]
      ], breaks: "but the same open store had"),
    without(
      \.judgesBeforeDropping, "the remains of a change replace a missing change",
      [
        [
          Script("W", [.put]), Script("V", [.compact, .read]),
          Script("X", [.keepCopy, .putBack(inPlace: true), .tear(last: true)]),
        ]
      ], breaks: "but the same open store had"
    ) {
      $0.faults.kill = 1
    },
    without(
      \.recoversLostMark, "an open reader writes only its own mark again",
      [[Script("R", [.put, .read]), Script("W", [.put])]], breaks: "was confirmed or read"
    ) {
      $0.faults.lostMark = 1
      $0.faults.losesWholeMark = true
      $0.faults.eviction = 1
    },
    without(
      \.readsDirect, "a reader that cannot write counts the page cache",
      [[Script("W", [.put]), Script("R", [.read])], openers], breaks: "was confirmed or read"
    ) {
      $0.faults.journalSync = 1
      $0.faults.remountsReadOnly = true
    },
  ]
}
