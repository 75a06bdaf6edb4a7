extension Scenario {
  /// Scenarios with an attacker who writes to the disk without a key.
  static func attacks(_ size: ModelSize) -> [Scenario] {
    var dropped = Scenario(
      "a change that was dropped is put back",
      [
        [
          Script("V", [.put]),
          Script("X", [.tear(last: true), .putChangeBack]), Script("R", [.read]),
          Script("S", [.read]),
        ]
      ])
    dropped.faults.kill = 1

    let restored = Scenario(
      "files put back under open stores",
      [
        [
          Script("R", [.read, .read, .read]), Script("W", [.put, .put, .put]),
          Script("X", [.keepCopy, .putBack(inPlace: true)]),
        ]
      ])

    // The other store writes further than the open store saw, on another branch of its journal.
    let branched = Scenario(
      "files put back under an open store, and written on",
      [
        [
          Script("R", [.put, .read, .put]), Script("X", [.keepCopy, .putBack(inPlace: true)]),
          Script("V", [.put, .put]),
        ]
      ])

    let replaced = Scenario(
      "files replaced under open stores",
      [
        [
          Script("R", [.read, .read, .read]), Script("W", [.put, .put]),
          Script("X", [.keepCopy, .putBack(inPlace: false)]),
        ]
      ])

    var spliced = Scenario(
      "pieces of the files of changes and compactions",
      [[Script("W", [.put, .compact, .put, .compact, .put]), Script("V", [.put, .put])]])
    spliced.faults.kill = 1
    spliced.faults.rename = 1
    spliced.hasSplices = true
    spliced.bounds = .random(runs: size.choose(20, large: 10_000), seed: 1)

    var failing = Scenario(
      "pieces of files, with failing syncs, kills and a cut",
      [
        [Script("W", [.put, .compact, .put]), Script("V", [.put, .compact])],
        [Script("A", [.put, .read]), Script("B", [.compact])],
      ])
    failing.faults.kill = 1
    failing.faults.journalSync = 2
    failing.faults.rename = 1
    failing.faults.noSpace = 1
    failing.faults.eviction = 1
    failing.hasSplices = true
    failing.bounds = .random(runs: size.choose(20, large: 10_000), seed: 2)

    var rotated = Scenario(
      "pieces of files of three keys",
      [[Script("W", [.put, .rotate, .put, .revoke]), Script("V", [.put, .compact])]])
    rotated.faults.kill = 1
    rotated.hasSplices = true
    rotated.bounds = .random(runs: size.choose(10, large: 5000), seed: 3)

    var repaired = Scenario(
      "pieces of the files of a repair",
      [
        [
          Script("W", [.put, .put, .compact, .put, .repair, .put]),
          Script("D", [.damageRecord, .damageMark]), Script("V", [.repair, .put]),
        ]
      ])
    repaired.initialChangeCount = 1
    repaired.faults.kill = 1
    repaired.hasSplices = true
    repaired.bounds = .random(runs: size.choose(10, large: 5000), seed: 6)
    return [
      dropped, restored, branched, replaced, spliced, failing, rotated, repaired,
    ]
  }

  /// Scenarios with everything at once, with random runs.
  static func everything(_ size: ModelSize) -> [Scenario] {
    var writers = Scenario(
      "three writers, a reader and all faults, two cuts",
      [
        [
          Script("V", [.put, .compact, .put]), Script("W", [.put, .put, .compact]),
          Script("U", [.put]), Script("R", [.read]),
        ],
        [Script("A", [.put, .compact, .read]), Script("B", [.read, .put])],
        [Script("C", [.put]), Script("D", [.read])],
      ])
    writers.faults.kill = 1
    writers.faults.journalSync = 2
    writers.faults.nextSync = 1
    writers.faults.markSync = 1
    writers.faults.markWrite = 1
    writers.faults.rename = 1
    writers.faults.noSpace = 1
    writers.faults.eviction = 2
    writers.faults.lostMark = 1
    writers.shape = [3]
    writers.nameOrder = .any
    writers.bounds = .random(runs: size.choose(300, large: 1_000_000), seed: 4)

    var keys = Scenario(
      "rotations, revocations and all faults, two cuts",
      [
        [
          Script("V", [.put, .rotate, .put]), Script("W", [.compact, .put]),
          Script("R", [.read, .close, .read]),
        ],
        [Script("A", [.put, .rotate]), Script("B", [.read, .put])],
        [Script("C", [.put]), Script("D", [.read])],
      ])
    keys.faults = writers.faults
    keys.nameOrder = .any
    keys.bounds = .random(runs: size.choose(200, large: 1_000_000), seed: 5)
    return [writers, keys]
  }
}
