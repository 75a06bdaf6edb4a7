import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport

/// Something that is done to a store while the machine may stop at any moment.
struct CrashScenario: Sendable, CustomStringConvertible {
  typealias Operation = @Sendable (CrashWorld) throws -> Void

  let description: String
  /// What was done long before, and is on the disk.
  var preparation: [Operation] = []
  /// What is recorded, an answer after each.
  let operations: [Operation]
  /// Whether processes die or calls fail.
  var isDisturbed = false
  /// What readers are told besides that the lock is taken.
  var refusals: Set<StoreError.Code> = []

  static func named(_ name: String) -> CrashScenario {
    guard let scenario = all.first(where: { $0.description == name }) else {
      preconditionFailure("there is no scenario \(name)")
    }
    return scenario
  }

  /// What programs do that nothing gets in the way of.
  static let undisturbed =
    changes + slots + [creation, compaction, rotation, revocation] + repairs

  /// What happens when processes die, disks are full, or calls fail.
  static let disturbed =
    [
      unfinishedWrite, unconfirmedChange, unfinishedSettling, unfinishedCompaction,
      unfinishedRotation, fullDisk, readingOnFullDisk, failingJournal, failingMark,
      failingRewriting, failingDirectory, unwritableMark, repairAfterFailedSync, unwritableCopy,
    ].map { scenario in
      var scenario = scenario
      scenario.isDisturbed = true
      return scenario
    }

  static let all = undisturbed + disturbed

  /// A text that differs in every sector.
  static func long(_ byteCount: Int) -> String {
    String((0...byteCount / 8).map { String(format: "%07d ", $0) }.joined().prefix(byteCount))
  }

  private static let filling: [Operation] = [
    { try $0.create() },
    { try $0.store().put("1", as: "a") },
    { try $0.store().put(long(3000), as: "b") },
    { try $0.store().put("1", as: "c") },
  ]

  static let changes = [
    CrashScenario(
      description: "put", preparation: filling,
      operations: [
        { try $0.store().put("2", as: "a") },
        { try $0.store().put(long(2500), as: "new") },
        { try $0.store().put("3", as: "a") },
      ]
        + [600, 1400, 3100, 4000, 5000, 6000, 8000, 10_000, 12_000, 16_000].map { byteCount in
          { try $0.store().put(long(byteCount), as: "b") }
        } + [{ try $0.store().put("4", as: "a") }]),
    CrashScenario(
      description: "remove", preparation: filling,
      operations: [
        { try $0.store().remove(name("b")) },
        { try $0.store().remove(name("a")) },
        { try $0.store().put("2", as: "a") },
        { try $0.store().apply([.remove(name("a")), .remove(name("c"))]) },
      ]),
    CrashScenario(
      description: "change of 40 records", preparation: filling,
      operations: [
        {
          try $0.store().apply(
            (0..<39).map { number in
              let text = number % 13 == 0 ? long(1000) : "\(number)"
              return .put(secret(text), for: try name("item \(number)"))
            } + [.remove(name("a"))])
        },
        {
          try $0.store().apply(
            (0..<40).map { number in
              let key = try name(number == 0 ? "a" : "item \(number - 1)")
              return number % 2 == 0 ? .put(secret("new \(number)"), for: key) : .remove(key)
            })
        },
        {
          try $0.store().apply(
            (0..<40).map { .put(secret(long($0 * 16 + 1)), for: try name("item \($0 % 20)")) })
        },
      ]),
  ]

  static let creation = CrashScenario(
    description: "creation",
    operations: [{ try $0.create() }, { try $0.store().put("1", as: "a") }],
    refusals: [StoreError.unavailable])

  static let compaction = CrashScenario(
    description: "compaction", preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.store().compact() },
      { try $0.store().put("2", as: "c") },
      { try $0.store().compact() },
      { try $0.store().compact() },
      { try $0.store().remove(name("b")) },
    ])

  static let slots = [
    CrashScenario(
      description: "slot added", preparation: filling,
      operations: [
        { world in try world.store().addSlot(world.key("second")) },
        { try $0.store().put("2", as: "a") },
        { world in try world.store().addSlot(world.key("third")) },
        { world in try world.reopen("second") },
        { try $0.store().put("3", as: "a") },
      ]),
    CrashScenario(
      description: "slots changed and removed",
      preparation: filling + [{ world in try world.store().addSlot(world.key("second")) }],
      operations: [
        { world in try world.store().changeSlot(1, to: world.key("third")) },
        { try $0.store().put("2", as: "a") },
        { try $0.store().removeSlot(2) },
        { try $0.store().put("3", as: "a") },
      ]),
  ]

  static let rotation = CrashScenario(
    description: "rotation",
    preparation: filling + [{ world in try world.store().addSlot(world.key("second")) }],
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.store().rotate() },
      { try $0.store().put("3", as: "a") },
      { try $0.store().rotate() },
      { try $0.store().rotate() },
    ])

  static let revocation = CrashScenario(
    description: "revocation",
    preparation: filling + [{ world in try world.store().addSlot(world.key("second")) }],
    operations: [
      { try $0.store().put("2", as: "a") },
      { world in try world.store().revoke(keeping: [world.key("first")]) { _ in true } },
      { try $0.store().put("3", as: "a") },
      { world in try world.store().addSlot(world.key("third")) },
      { world in try world.store().revoke(keeping: [world.key("third")]) { _ in true } },
      { try $0.store().put("4", as: "a") },
    ],
    // Whoever has the store open needs a key again after a revocation.
    refusals: [StoreError.wrongKey])

  /// The process dies when the new journal counts and the headers are the old ones; the next
  /// one finishes.
  static let unfinishedRotation = CrashScenario(
    description: "rotation finished by another",
    preparation: filling + [{ world in try world.store().addSlot(world.key("second")) }],
    operations: [
      { try $0.dying(at: failAfterInstalling(1)) { try $0.rotate() } },
      { try $0.store().put("2", as: "a") },
      { try $0.dying(at: failAfterInstalling(2)) { try $0.rotate() } },
      { try $0.store().put("3", as: "a") },
      { world in
        try world.dying(at: failAfterInstalling(1)) { store in
          try store.revoke(keeping: [world.key("first")]) { _ in true }
        }
      },
      { try $0.store().put("4", as: "a") },
    ],
    refusals: [StoreError.wrongKey])

  /// The n-th rename is the last thing that is done.
  private static func failAfterInstalling(
    _ count: Int
  ) -> @Sendable (FaultyFileSystem.Call) -> FaultyFileSystem.Fault? {
    let renames = Locked(0)
    return { call in
      renames.withLock { renames in
        if call.kind == .rename { renames += 1 }
        return renames == count && call.kind != .rename ? .fail(EIO) : nil
      }
    }
  }

  /// The process dies half-way through a write; the next one drops what it left.
  static let unfinishedWrite = CrashScenario(
    description: "unfinished write", preparation: filling,
    operations: [
      { try $0.dying(at: shortWrite(1700)) { try $0.put(long(2500), as: "a") } },
      { try $0.store().put("2", as: "a") },
      { try $0.dying(at: shortWrite(100)) { try $0.put("never", as: "a") } },
      { try $0.store().put("3", as: "a") },
      { world in
        try world.dying(at: shortWrite(2000)) { store in
          try store.apply((0..<20).map { .put(secret("never"), for: try name("item \($0)")) })
        }
      },
      { try $0.store().remove(name("b")) },
    ])

  /// The process dies between the write of a change and its mark; the next one finds all of it.
  static let unconfirmedChange = CrashScenario(
    description: "unconfirmed change", preparation: filling,
    operations: [
      { try $0.dying(at: call(.synchronizeData)) { try $0.put(long(2500), as: "a") } },
      { try $0.store().put("2", as: "c") },
      { try $0.dying(at: call(.write, of: "mark")) { try $0.put("3", as: "a") } },
      { try $0.store().compact() },
      { world in
        try world.dying(at: call(.synchronizeData)) { store in
          try store.apply((0..<20).map { .put(secret("\($0)"), for: try name("item \($0)")) })
        }
      },
      { try $0.store().rotate() },
    ])

  /// Processes die while they settle what others left.
  static let unfinishedSettling = CrashScenario(
    description: "unfinished settling", preparation: filling,
    operations: [
      { try $0.dying(at: call(.synchronizeData)) { try $0.put(long(2500), as: "a") } },
      { try $0.dyingToOpen(at: call(.synchronizeData)) },
      { try $0.dyingToOpen(at: call(.write, of: "mark")) },
      { try $0.store().put("2", as: "c") },
      { try $0.dying(at: shortWrite(1700)) { try $0.put(long(2500), as: "b") } },
      { try $0.dyingToOpen(at: call(.truncate)) },
      { try $0.dyingToOpen(at: call(.write, of: "journal")) },
      { try $0.dyingToOpen(at: call(.synchronizeData)) },
      { try $0.dyingToOpen(at: call(.write, of: "mark")) },
      { try $0.store().put("3", as: "c") },
    ])

  /// The process dies when the new journal has its name and no mark; the next one goes on.
  static let unfinishedCompaction = CrashScenario(
    description: "compaction that nothing confirmed", preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.dying(at: failAfterInstalling(1)) { try $0.compact() } },
      { try $0.store().put("3", as: "a") },
      { try $0.dying(at: call(.write, of: "mark", number: 2)) { try $0.compact() } },
      { try $0.dying(at: call(.synchronizeData)) { try $0.put("4", as: "a") } },
      { try $0.store().compact() },
      { try $0.dying(at: failAfterInstalling(1)) { try $0.compact() } },
      { try $0.dying(at: shortWrite(1700)) { try $0.put(long(2500), as: "a") } },
      { try $0.store().remove(name("b")) },
    ])

  /// The disk is full in the midst of a change, which is cut off; what follows is as long as
  /// what was cut off, to the byte, so that nothing but its chain tells them apart.
  static let fullDisk = CrashScenario(
    description: "full disk",
    preparation: filling + [{ try $0.alignJournal(before: "never") }],
    operations: [
      { world in
        try world.onFullDisk(after: 2300) { store in
          try store.apply((0..<40).map { .put(secret("never"), for: try name("item \($0)")) })
        }
      },
      { try $0.store().put("1", as: "item 0") },
      { world in try world.onFullDisk(after: 2300) { try $0.put(long(3500), as: "a") } },
      { try $0.store().put("2", as: "a") },
      { world in
        try world.onFullDisk(after: 2300) { store in
          try store.apply((0..<40).map { .put(secret("never"), for: try name("item \($0)")) })
        }
      },
      { try $0.store().put("3", as: "item 0") },
      { try $0.store().put("4", as: "item 1") },
      // All of the change is written, only its reserve is not, and then it cannot be cut off.
      { world in
        try world.onFullDisk(
          after: 45_000, with: StoreError.outcomeUnknown, failing: .truncate
        ) { try $0.put(long(40_000), as: "a") }
      },
      { try $0.store().put("5", as: "item 1") },
      { world in
        try world.onFullDisk(
          after: 75_000, with: StoreError.outcomeUnknown, failing: .synchronizeData
        ) { try $0.put(long(70_000), as: "b") }
      },
      { try $0.store().put("6", as: "item 1") },
    ])

  /// A store that cannot be written is read, whatever the last writer left.
  static let readingOnFullDisk = CrashScenario(
    description: "reading on a full disk", preparation: filling,
    operations: [
      { try $0.dying(at: call(.synchronizeData)) { try $0.put(long(2500), as: "a") } },
      { try $0.readOnFullDisk() },
      { try $0.store().put("2", as: "c") },
      { try $0.dying(at: shortWrite(1700)) { try $0.put(long(2500), as: "a") } },
      { try $0.readOnFullDisk() },
      { try $0.store().put("3", as: "c") },
      { world in
        try world.failingSync(of: "journal", with: StoreError.outcomeUnknown) {
          try $0.put(long(2500), as: "c")
        }
      },
      { try $0.readOnFullDisk() },
      { try $0.store().put("4", as: "b") },
    ])

  /// After a sync that failed the kernel calls what was lost clean, and no other sync saves it.
  static let failingJournal = CrashScenario(
    description: "failing syncs of the journal", preparation: filling,
    operations: [
      { world in
        try world.failingSync(of: "journal", with: StoreError.outcomeUnknown) {
          try $0.put(long(2500), as: "a")
        }
      },
      { try $0.store().put("2", as: "c") },
      { world in
        try world.failingSync(of: "journal", with: StoreError.outcomeUnknown) {
          try $0.put(long(2500), as: "b")
        }
      },
      { world in
        world.close()
        try world.store().put("3", as: "c")
      },
      { world in
        try world.failingSync(of: "journal", with: StoreError.outcomeUnknown) {
          try $0.put(long(3000), as: "b")
        }
      },
      // That of settling.
      { try $0.failingToOpen(of: "journal", with: StoreError.io) },
      { try $0.store().put("4", as: "c") },
      { try $0.dying(at: shortWrite(1700)) { try $0.put(long(2500), as: "b") } },
      { try $0.failingToOpen(of: "journal", with: StoreError.io) },
      { try $0.store().put("5", as: "c") },
    ])

  static let failingMark = CrashScenario(
    description: "failing syncs of the mark", preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.failingSync(of: "mark", with: StoreError.io) { try $0.compact() } },
      { try $0.store().compact() },
      { try $0.store().put("3", as: "a") },
      { try $0.failingSync(of: "mark", with: StoreError.io) { try $0.rotate() } },
      { try $0.store().rotate() },
      { try $0.store().put("4", as: "a") },
    ])

  static let failingRewriting = CrashScenario(
    description: "failing syncs of a new journal", preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.failingSync(of: "journal.next", with: StoreError.io) { try $0.compact() } },
      { try $0.store().compact() },
      { try $0.store().put("3", as: "a") },
      { try $0.failingSync(of: "header.next", with: StoreError.io) { try $0.rotate() } },
      { try $0.failingSync(of: "journal.next", with: StoreError.io) { try $0.rotate() } },
      { try $0.store().rotate() },
    ])

  static let failingDirectory = CrashScenario(
    description: "failing syncs of the directory", preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.failingDirectorySync(number: 1) { try $0.compact() } },
      { try $0.store().put("3", as: "a") },
      { try $0.failingDirectorySync(number: 1) { try $0.compact() } },
      // That of the journal's name, before anything is written.
      { world in
        try world.failingDirectorySync(number: 1, with: StoreError.io) { try $0.put("4", as: "a") }
      },
      { try $0.store().put("5", as: "a") },
      { try $0.failingDirectorySync(number: 1) { try $0.rotate() } },
      { try $0.failingDirectorySync(number: 2) { try $0.rotate() } },
      { try $0.store().put("6", as: "a") },
    ])

  static let unwritableMark = CrashScenario(
    description: "mark that cannot be written", preparation: filling,
    operations: [
      { try $0.failingMarkWrite(with: StoreError.outcomeUnknown) { try $0.put("2", as: "a") } },
      { try $0.store().put("3", as: "a") },
      { try $0.failingMarkWrite(with: StoreError.io) { try $0.compact() } },
      {
        try $0.failingMarkWrite(number: 2, with: StoreError.outcomeUnknown) { try $0.compact() }
      },
      { try $0.store().put("4", as: "a") },
      // A rotation counts all the same.
      { try $0.failingMarkWrite(number: 2, with: nil) { try $0.rotate() } },
      { try $0.store().put("5", as: "a") },
    ])

  /// A change of slots counts when the header has it.
  static let unwritableCopy = CrashScenario(
    description: "copy of the header that cannot be written", preparation: filling,
    operations: [
      { world in
        try world.failingCopy { try $0.addSlot(world.key("second")) }
      },
      { try $0.store().put("2", as: "a") },
    ])

  /// The mark that a repair names is on the disk, whatever became of earlier syncs.
  static let repairAfterFailedSync = CrashScenario(
    description: "repair after a failed sync", preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.failingSync(of: "mark", with: StoreError.io) { try $0.compact() } },
      // In a value that was replaced.
      { try $0.flip("journal", at: 250) },
      { _ = try $0.store().repair() },
      { try $0.store().put("3", as: "a") },
    ])

  static let repairs = [
    // One value and the copy of the header were damaged.
    repair(
      "repair",
      of: [
        { try $0.store().put("2", as: "c") },
        { try $0.flip("journal", at: 700) },
        { try $0.flip("header.copy", at: 20) },
      ]),
    repair("repair of a broken chain", of: [{ try $0.flip("journal", at: 88 + 60) }]),
    repair("repair without a mark", of: [{ try $0.remove("mark") }]),
    repair("repair with a spoiled mark", of: [{ try $0.flip("mark", at: 20) }]),
  ]

  private static func repair(_ description: String, of damage: [Operation]) -> CrashScenario {
    CrashScenario(
      description: description, preparation: filling + damage,
      operations: [
        { _ = try $0.store().repair() },
        { try $0.store().put("3", as: "a") },
      ],
      refusals: [StoreError.corrupt])
  }

  private static func shortWrite(
    _ byteCount: Int
  ) -> @Sendable (FaultyFileSystem.Call) -> FaultyFileSystem.Fault? {
    { $0.kind == .write ? .short(byteCount) : nil }
  }

  /// The n-th call of a kind, of a file if one is named.
  static func call(
    _ kind: FaultyFileSystem.Call.Kind, of name: String? = nil, number: Int = 1
  ) -> @Sendable (FaultyFileSystem.Call) -> FaultyFileSystem.Fault? {
    let count = Locked(0)
    return { call in
      guard call.kind == kind, name == nil || call.name == name else { return nil }
      return count.withLock { count in
        count += 1
        return count == number ? .fail(EIO) : nil
      }
    }
  }
}

extension CrashWorld {
  /// Lets the journal end so that the record of a short value is followed by a whole sector.
  func alignJournal(before text: String) throws {
    let short = try journalByteCount()
    try store().put(text, as: "item 0")
    let recordByteCount = try journalByteCount() - short
    let start = short + recordByteCount
    // Eight records whose values are padded to 64 up to 128 bytes, in steps of 8, have every length
    // that there is up to a multiple of 512.
    var missing = (8 * 512 - 8 * 232 - recordByteCount - start % 512) % 512
    for _ in 0..<8 {
      let more = min(64, missing)
      missing -= more
      try store().put(String(repeating: "x", count: 60 + more), as: "filler")
    }
    let end = try journalByteCount() + recordByteCount
    precondition(end % 512 == 0, "the journal does not end where it should")
  }

  private func journalByteCount() throws -> Int {
    let content = try content()
    return RecordedDisk.withoutReserve(content["journal"] ?? [], mark: content["mark"] ?? []).count
  }
}
