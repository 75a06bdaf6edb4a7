import Foundation
import SealedStore
import SessionToolsBase
import StoreMigration
import TestThreads
import Testing

/// A source of which some bytes are not what was written.
@Suite(.onOwnThread) struct DamagedSourceTests {
  private let source: TestStore
  private let journalFile: String

  init() throws {
    source = try TestStore(.sealed)
    journalFile = source.path(of: "journal")
  }

  /// Puts an item, and tells where its record is in the journal.
  private func put(_ text: String, as identifier: String) throws -> Range<Int> {
    let start = try source.journalByteCount
    try source.store.put(SecretBytes(utf8: text), for: try key(identifier))
    return start..<(try source.journalByteCount)
  }

  private func damage(_ record: Range<Int>) throws {
    var bytes = try Data(contentsOf: URL(filePath: journalFile))
    bytes[(record.lowerBound + record.upperBound) / 2] ^= 1
    try bytes.write(to: URL(filePath: journalFile))
  }

  private func migrate(to target: MemoryStore) throws -> MigrationReport {
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    options.deletesSource = true
    return try Migration(
      from: source.store, to: target, journal: MemoryStore(), options: options
    ).run()
  }

  @Test func `what still can be read is copied, and what cannot is named`() throws {
    _ = try put("1", as: "a")
    _ = try put("old", as: "b")
    try damage(put("2", as: "b"))
    _ = try put("3", as: "c")
    let target = MemoryStore()
    let report = try migrate(to: target)
    #expect(report.entries.map(\.outcome.name) == ["moved", "failed", "moved"])
    #expect(!report.isComplete && report.damage == nil)
    #expect(target.contents == (try items(["a": "1", "c": "3"])))
    #expect(try !source.store.contains(key("a")))
    #expect(try source.store.contains(key("b")))
  }

  @Test func `a name that cannot be read either is told of`() throws {
    _ = try put("1", as: "a")
    try damage(put("2", as: "b"))
    let target = MemoryStore()
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    let migration = Migration(
      from: source.store, to: target, journal: MemoryStore(), options: options)
    let plan = try migration.plan()
    #expect(plan.entries.map(\.action.name) == ["copy"])
    #expect(plan.damage?.code == StoreError.corrupt)
    let report = try migration.run()
    #expect(report.entries.map(\.outcome.name) == ["migrated"])
    #expect(report.damage?.code == StoreError.corrupt)
    #expect(!report.isComplete)
    #expect(try migration.resume().damage?.code == StoreError.corrupt, "it is remembered")
    #expect(target.contents == (try items(["a": "1"])))
  }

  @Test func `items behind a break are copied as far as they are known for sure`() throws {
    let first = try put("1", as: "a")
    _ = try put("2", as: "b")
    _ = try put("3", as: "c")
    var bytes = try Data(contentsOf: URL(filePath: journalFile))
    // The number of the first record, which the chain covers.
    bytes[first.lowerBound + 8] ^= 1
    try bytes.write(to: URL(filePath: journalFile))
    let plan = try Migration(
      from: source.store, to: MemoryStore(), journal: MemoryStore()
    ).plan()
    #expect(plan.damage?.code == StoreError.corrupt)
    for entry in plan.entries {
      guard case .impossible(let error) = entry.action else { continue }
      #expect(error.code == StoreError.corrupt)
    }
    #expect(plan.entries.allSatisfy { ["b", "c"].contains($0.source.identifier) })
  }
}
