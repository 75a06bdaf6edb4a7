import Foundation
import SealedStore
import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

/// A source in which some bytes were changed.
@Suite(.onOwnThread) struct DamagedSourceTests {
  private let source: TestStore
  private let journalFile: String

  init() throws {
    source = try TestStore(.sealed)
    journalFile = source.path(of: "journal")
  }

  /// Puts an item, and returns the range of its record in the journal.
  private func put(_ text: String, as identifier: String) throws -> Range<Int> {
    let start = try source.journalByteCount
    try source.store.put(SecretBytes(utf8: text), for: try name(identifier))
    return start..<(try source.journalByteCount)
  }

  /// The offsets of the parts of a short record.
  private enum Part: Int {
    case number = 8
    case chainValue = 56
    case name = 72
    case value = 152
  }

  private func damage(_ record: Range<Int>, in parts: Part...) throws {
    var bytes = try Data(contentsOf: URL(filePath: journalFile))
    for part in parts { bytes[record.lowerBound + part.rawValue] ^= 1 }
    try bytes.write(to: URL(filePath: journalFile))
  }

  private func migrate(
    _ store: (any MigratableStore)? = nil, to target: MemoryStore, deletesSource: Bool = true
  ) throws -> MigrationReport {
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    options.deletesSource = deletesSource
    return try Migration(
      from: store ?? source.store, to: target, journal: MemoryStore(), options: options
    ).run()
  }

  @Test func `readable items are copied, and the others are named`() throws {
    _ = try put("1", as: "a")
    _ = try put("old", as: "b")
    try damage(put("2", as: "b"), in: .value)
    _ = try put("3", as: "c")
    let target = MemoryStore()
    let report = try migrate(to: target)
    #expect(try report.entries.map(\.outcome.name) == ["moved", "failed", "moved"])
    #expect(!report.isComplete && report.damage == nil)
    #expect(target.contents == (try items(["a": "1", "c": "3"])))
    #expect(try !source.store.contains(name("a")))
    #expect(try source.store.contains(name("b")))
  }

  @Test func `a name that cannot be read either is reported as damage`() throws {
    _ = try put("1", as: "a")
    try damage(put("2", as: "b"), in: .name, .value)
    let target = MemoryStore()
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    let migration = Migration(
      from: source.store, to: target, journal: MemoryStore(), options: options)
    var actions: [String] = []
    let plan = try migration.plan { actions.append($0.action.name) }
    #expect(actions == ["copy"])
    #expect(plan.damage?.code == .corrupt)
    let report = try migration.run()
    #expect(try report.entries.map(\.outcome.name) == ["migrated"])
    #expect(report.damage?.code == .corrupt)
    #expect(!report.isComplete)
    #expect(try migration.resume().damage?.code == .corrupt, "the damage is remembered")
    #expect(target.contents == (try items(["a": "1"])))
  }

  @Test func `items around a break are copied only if they are certain`() throws {
    _ = try put("1", as: "a")
    _ = try put("2", as: "b")
    let broken = try put("3", as: "b")
    _ = try put("4", as: "c")
    try damage(broken, in: .chainValue)
    let target = MemoryStore()
    let report = try migrate(source.opened(), to: target, deletesSource: false)
    #expect(target.contents == (try items(["a": "1"])))
    #expect(!report.isComplete)
    for entry in try report.entries where entry.source.identifier != "a" {
      #expect(entry.outcome.name == "failed", "\(entry.source)")
    }
  }

  @Test func `nothing is copied if a record may be missing`() throws {
    _ = try put("1", as: "a")
    let broken = try put("2", as: "b")
    _ = try put("3", as: "c")
    try damage(broken, in: .number)
    let target = MemoryStore()
    let report = try migrate(source.opened(), to: target, deletesSource: false)
    #expect(target.contents.isEmpty)
    #expect(report.damage?.code == .corrupt)
    #expect(try report.entries.allSatisfy { $0.outcome.name == "failed" })
  }

  @Test func `a list that is damaged once the store was compacted leaves no item out silently`()
    throws
  {
    let store = try #require(source.store as? SealedFileStore)
    // With as many dead records in front: after the compaction every record is further ahead.
    for round in 0..<2 {
      try store.apply(
        (0..<2500).map {
          .put(SecretBytes(utf8: "value \(round)"), for: try name("\(1000 + $0)"))
        })
    }
    let old = try FileHandle(forUpdating: URL(filePath: journalFile))
    // In a record of the old file that is listed later.
    try old.seek(toOffset: UInt64(source.journalByteCount - 1000))
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    let migration = Migration(
      from: store, to: MemoryStore(), journal: MemoryStore(), options: options)
    var count = 0
    let error = failure {
      try migration.plan { _ throws(StoreError) in
        count += 1
        guard count == 500 else { return }
        try store.compact()
        old.write(Data(repeating: 0xff, count: 200))
      }
    }
    #expect(error == "changed" && count < 2500)
    count = 0
    #expect(try migration.plan { _ in count += 1 }.damage == nil)
    #expect(count == 2500)
  }
}
