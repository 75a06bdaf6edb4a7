import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A series of operations on a store, during which the machine may stop at any moment.
struct CrashScenario: Sendable, CustomStringConvertible {
  typealias Operation = @Sendable (CrashWorld) throws -> Void

  let description: String
  /// The earlier operations, which are already on the disk.
  var preparation: [Operation] = []
  /// The recorded operations; each is followed by its confirmation.
  let operations: [Operation]
  /// Whether processes die or calls fail.
  var isDisturbed = false
  /// The errors that readers may receive in addition to that of a held lock.
  var refusals: Set<StoreError.Code> = []

  static func named(_ name: String) -> CrashScenario {
    guard let scenario = all.first(where: { $0.description == name }) else {
      preconditionFailure("there is no scenario \(name)")
    }
    return scenario
  }

  /// The scenarios without interference.
  static let undisturbed =
    changes + slots + [creation, compaction, rotation, revocation] + repairs

  /// The scenarios in which processes die, disks are full, or calls fail.
  static let disturbed =
    [
      unfinishedWrite, unconfirmedChange, unfinishedRecovery, unfinishedCompaction,
      unfinishedRotation, fullDisk, readingOnFullDisk, failingJournal, failingMark,
      failingRewriting, failingDirectory, unwritableMark, repairAfterFailedSync, unwritableCopy,
    ].map { scenario in
      var scenario = scenario
      scenario.isDisturbed = true
      return scenario
    }

  static let all = undisturbed + disturbed

  /// Returns a text whose sectors all differ.
  static func long(_ byteCount: Int) -> String {
    String((0...byteCount / 8).map { String(format: "%07d ", $0) }.joined().prefix(byteCount))
  }

  static let filling: [Operation] = [
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
              let name = try name(number == 0 ? "a" : "item \(number - 1)")
              return number % 2 == 0 ? .put(secret("new \(number)"), for: name) : .remove(name)
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
    // A process that has the store open needs a key again after a revocation.
    refusals: [StoreError.wrongKey])

  /// A rotation whose process dies when the new journal counts but the headers are still old.
  ///
  /// The next process finishes it.
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

  /// Returns a rule that lets all calls after the n-th rename fail.
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

  /// A write during which the process dies; the next process drops its remains.
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

  /// A change whose process dies between the write and the mark; the next process finds all of it.
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

  /// Processes that die while they recover the remains of others.
  static let unfinishedRecovery = CrashScenario(
    description: "unfinished recovery", preparation: filling,
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

  /// A compaction whose process dies when the new journal has its name but no mark.
  ///
  /// The next process continues with the new journal.
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

  static let repairs = [
    // One value and the copy of the header are damaged.
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

  /// Returns a rule that cuts writes off after a number of bytes.
  static func shortWrite(
    _ byteCount: Int
  ) -> @Sendable (FaultyFileSystem.Call) -> FaultyFileSystem.Fault? {
    { $0.kind == .write ? .short(byteCount) : nil }
  }

  /// Returns a rule that lets the n-th call of a kind fail, for one file if it is named.
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
