extension Scenario {
  /// Scenarios in which every promise is kept.
  package static func sound(_ size: ModelSize) -> [Scenario] {
    (changes(size) + rewritings(size) + readers(size) + repairs(size) + attacks(size)
      + everything(size)).map { $0.bounded(size) }
  }

  /// Two openers, the first processes after a crash.
  static let openers = [Script("A", [.read]), Script("B", [.read])]
  /// A writer and an opener.
  static let writerAndOpener = [Script("A", [.put]), Script("B", [.read])]

  private static func changes(_ size: ModelSize) -> [Scenario] {
    var writers = Scenario(
      "two writers and a reader, two cuts",
      [
        [
          Script("V", [.put]), Script("W", size.choose([.put], large: [.put, .put])),
          Script("R", [.read]),
        ],
        writerAndOpener, openers,
      ])
    writers.faults.kill = size.choose(0, large: 1)

    var failures = Scenario(
      "failing syncs, lost pages, a full disk, a mark that is not written, one cut",
      [
        [Script("W", [.put, .put]), Script("R", [.read])],
        [Script("A", [.put, .read])],
      ])
    failures.faults.journalSync = size.choose(1, large: 2)
    failures.faults.eviction = 1
    failures.faults.markWrite = 1
    failures.faults.noSpace = 1
    failures.faults.kill = size.choose(0, large: 1)

    var torn = Scenario(
      "changes of several records and sectors, killed, cuts",
      [[Script("W", [.put])], writerAndOpener] + size.choose([], large: [openers]))
    torn.shape = size.choose([3], large: [3, 2])
    torn.faults.kill = 1

    var lostMark = Scenario(
      "a mark that is not written back, and read again from the disk, one cut",
      [
        [
          Script("W", [.put, .put]), Script("V", size.choose([.read], large: [.put])),
          Script("U", [.read]),
        ],
        openers,
      ])
    lostMark.faults.lostMark = size.choose(1, large: 2)
    lostMark.faults.eviction = size.choose(1, large: 2)
    return [writers, failures, torn, lostMark]
  }

  private static func rewritings(_ size: ModelSize) -> [Scenario] {
    var compaction = Scenario(
      "changes and a compaction by two writers with a reader, cuts",
      [
        [
          Script("W", [.put, .compact, .put]), Script("V", [.put]), Script("R", [.read, .read]),
        ],
        writerAndOpener,
      ] + size.choose([], large: [openers]))
    compaction.faults.kill = size.choose(0, large: 1)
    compaction.faults.journalSync = size.choose(0, large: 1)
    compaction.faults.eviction = size.choose(0, large: 1)
    compaction.faults.markWrite = size.choose(0, large: 1)

    var killed = Scenario(
      "two compactions, killed, cuts",
      [
        [Script("V", [.compact]), Script("W", [.put, .compact])],
        writerAndOpener,
      ] + size.choose([], large: [openers]))
    killed.initialChangeCount = 1
    killed.faults.kill = size.choose(1, large: 2)
    killed.nameOrder = .any

    var failed = Scenario(
      "compactions with failing syncs and a failing rename, one cut",
      [
        [
          Script(
            "W", size.choose([.put, .compact], large: [.put, .compact, .put])),
          Script("V", size.choose([.compact], large: [.put, .compact])),
        ], writerAndOpener,
      ])
    failed.faults.markSync = 1
    failed.faults.nextSync = 1
    failed.faults.rename = 1
    failed.faults.eviction = 1
    return [compaction, killed, failed] + keyChanges(size)
  }

  private static func keyChanges(_ size: ModelSize) -> [Scenario] {
    var rotation = Scenario(
      "a rotation with a writer and a reader, killed, one cut",
      [
        [
          Script("W", [.rotate]), Script("V", [.put]),
          Script("R", size.choose([.read], large: [.read, .read])),
        ],
        writerAndOpener,
      ])
    rotation.initialChangeCount = 1
    rotation.faults.kill = 1
    rotation.nameOrder = .any

    var revocation = Scenario(
      "a revocation with readers, one of whose slots is dropped, cuts",
      [
        [
          Script("W", [.revoke, .put]), Script("R", [.read, .read], slot: 1),
          Script("S", size.choose([.read], large: [.read, .read])),
        ],
        [Script("A", [.put]), Script("B", [.read], slot: 1)],
      ] + size.choose([], large: [openers]))
    revocation.initialChangeCount = 1
    revocation.nameOrder = .any
    revocation.faults.kill = size.choose(0, large: 1)
    return [rotation, revocation]
  }

  private static func readers(_ size: ModelSize) -> [Scenario] {
    let open = Scenario(
      "open readers with a writer that compacts",
      [
        [
          Script("R", [.read, .read, .read]), Script("S", [.read, .read]),
          Script(
            "W",
            size.choose([.put, .compact], large: [.put, .compact, .put, .compact])),
        ]
      ])

    var bindMount = Scenario(
      "a reader on a read-only mount with a writer and an opener, one cut",
      [
        [
          Script("W", [.put, .put]), Script("R", [.read, .read], access: .readOnly),
          Script("S", [.read]),
        ], openers,
      ])
    bindMount.faults.kill = 1
    bindMount.faults.journalSync = size.choose(0, large: 1)
    bindMount.faults.eviction = size.choose(0, large: 1)

    var remounted = Scenario(
      "a failed sync that makes the file system read-only, one cut",
      [[Script("W", [.put, .put]), Script("R", [.read]), Script("S", [.read])], openers])
    remounted.faults.journalSync = 1
    remounted.faults.eviction = 1
    remounted.faults.remountsReadOnly = true

    var lostMark = Scenario(
      "an open store that saw a mark which was lost, one cut",
      [[Script("W", [.put, .put, .read, .read]), Script("V", [.read])], openers])
    lostMark.faults.lostMark = 2
    lostMark.faults.eviction = 2
    return [open, bindMount, remounted, lostMark]
  }

  private static func repairs(_ size: ModelSize) -> [Scenario] {
    var record = Scenario(
      "a repair of a damaged record, killed, cuts",
      [
        [
          Script("D", [.damageRecord]), Script("W", [.repair, .put]), Script("R", [.read, .read]),
        ],
        [Script("A", [.repair, .read])],
      ] + size.choose([], large: [openers]))
    record.initialChangeCount = 3
    record.faults.kill = 1
    record.faults.markSync = size.choose(0, large: 1)
    record.nameOrder = .any

    var mark = Scenario(
      "a repair of a damaged mark with an open reader, killed, one cut",
      [
        [
          Script("R", [.read, .read]), Script("D", [.damageMark]),
          Script("W", [.repair, .put]),
        ],
        [Script("A", [.repair, .read])],
      ])
    mark.initialChangeCount = 2
    mark.faults.kill = 1
    mark.nameOrder = .any
    return [record, mark]
  }
}
