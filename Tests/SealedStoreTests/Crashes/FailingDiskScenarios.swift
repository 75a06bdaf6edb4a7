import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// The scenarios in which disks are full, or calls fail.
extension CrashScenario {
  /// Changes during which the disk becomes full and which are cut off.
  ///
  /// The next change has exactly the same length as the part that was cut off, so that only its
  /// chain distinguishes them.
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
      // The whole change is written, but not its reserve, and then it cannot be cut off.
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

  /// Reads of a store that cannot be written, with different remains of the last writer.
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

  /// Failed syncs of the journal.
  ///
  /// After a failed sync the kernel treats the lost pages as clean, and no later sync writes them.
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
      // The sync of recovery fails.
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
      // The sync of the journal's name fails, before anything is written.
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
      // The rotation still counts.
      { try $0.failingMarkWrite(number: 2, with: nil) { try $0.rotate() } },
      { try $0.store().put("5", as: "a") },
    ])

  /// A change of slots, which counts once it is in the header.
  static let unwritableCopy = CrashScenario(
    description: "copy of the header that cannot be written", preparation: filling,
    operations: [
      { world in
        try world.failingCopy { try $0.addSlot(world.key("second")) }
      },
      { try $0.store().put("2", as: "a") },
    ])

  /// A repair after a failed sync: the mark that the repair names must be on the disk.
  static let repairAfterFailedSync = CrashScenario(
    description: "repair after a failed sync", preparation: filling,
    operations: [
      { try $0.store().put("2", as: "a") },
      { try $0.failingSync(of: "mark", with: StoreError.io) { try $0.compact() } },
      // The byte is in a superseded value.
      { try $0.flip("journal", at: 250) },
      { _ = try $0.store().repair() },
      { try $0.store().put("3", as: "a") },
    ])
}
