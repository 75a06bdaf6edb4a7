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

  static func named(_ name: String) -> CrashScenario {
    guard let scenario = all.first(where: { $0.description == name }) else {
      preconditionFailure("there is no scenario \(name)")
    }
    return scenario
  }

  static let all =
    changes + slots
    + [
      creation, compaction, markRemoved, rotation, revocation, unfinishedRotation, tail, fullDisk,
      repair,
    ]

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
    operations: [{ try $0.create() }, { try $0.store().put("1", as: "a") }])

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

  /// Somebody removed the mark, and did not wait until that was on the disk.
  static let markRemoved = CrashScenario(
    description: "mark removed",
    preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { world in
        let directory = try world.recorder.openDirectory(world.path)
        defer { world.recorder.close(directory) }
        try world.recorder.remove("mark", in: directory)
      },
      { try $0.store().put("3", as: "a") },
      { try $0.store().compact() },
      { try $0.store().put("4", as: "a") },
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
    ])

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
    ])

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

  /// The process dies half-way through a write; the next one cuts off what it left.
  static let tail = CrashScenario(
    description: "tail cut off", preparation: filling,
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
    ])

  /// One value and the copy of the header were damaged.
  static let repair = CrashScenario(
    description: "repair",
    preparation: filling + [
      { try $0.store().put("2", as: "c") },
      { world in
        try Scratch.flip("\(world.path)/journal", at: 700)
        try Scratch.flip("\(world.path)/header.copy", at: 20)
      },
    ],
    operations: [
      { _ = try $0.store().repair() },
      { try $0.store().put("3", as: "a") },
    ])

  private static func shortWrite(
    _ byteCount: Int
  ) -> @Sendable (FaultyFileSystem.Call) -> FaultyFileSystem.Fault? {
    { $0.kind == .write ? .short(byteCount) : nil }
  }
}

extension CrashWorld {
  /// Lets the journal end so that the record of a short value is followed by a whole sector.
  func alignJournal(before text: String) throws {
    let short = try RecordedDisk.read(path)["journal"]?.count ?? 0
    try store().put(text, as: "item 0")
    let recordByteCount = (try RecordedDisk.read(path)["journal"]?.count ?? 0) - short
    var number = 0
    while ((try RecordedDisk.read(path)["journal"]?.count ?? 0) + recordByteCount) % 512 != 0 {
      number += 1
      try store().put(String(repeating: "x", count: 16 * (number % 12) + 1), as: "filler")
    }
  }
}
