import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of which sealed parts of a record an operation opens.
@Suite struct OpenedPartsTests {
  private static let identifiers = (0..<20).map { "item \($0)" }
  /// The offsets of the parts of a record; all records here are short.
  private static let (nameOffset, valueOffset) = (72, 152)
  private static func start(ofRecord number: Int) -> Int { 88 + number * 232 }

  let scratch: Scratch
  let names: [ItemName]

  init() throws {
    scratch = try Scratch()
    names = try Self.identifiers.map { try name($0) }
    let store = try scratch.create()
    for name in names { try store.put(secret("value of \(name.identifier)"), for: name) }
  }

  /// Damages a part of every record, but not its authentication tag, which opening a store checks.
  private func spoil(partAt offset: Int) throws {
    for number in names.indices {
      try scratch.flip("journal", at: Self.start(ofRecord: number) + offset + 3)
    }
  }

  @Test func `a list opens no value`() throws {
    try spoil(partAt: Self.valueOffset)
    let store = try scratch.open()
    #expect(try store.names(in: nil) == names.sorted())
    for name in names {
      #expect(try store.contains(name))
      #expect(try code { _ = try store.value(for: name) } == StoreError.corrupt)
    }
    let report = try store.verify()
    #expect(report.damagedItems == names.sorted())
  }

  @Test func `a get opens no name`() throws {
    try spoil(partAt: Self.nameOffset)
    let store = try scratch.open()
    for name in names {
      #expect(try store.contains(name))
      #expect(try store.value(for: name) == secret("value of \(name.identifier)"))
    }
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
    #expect(try !store.verify().isSound)
  }

  @Test func `one damaged name makes every list and a compaction fail`() throws {
    try scratch.flip("journal", at: Self.start(ofRecord: 7) + Self.nameOffset)
    let store = try scratch.open()
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
    #expect(try code { _ = try store.names(in: "another") } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try store.text("item 7") == "value of item 7")
  }

  @Test func `a get checks that the value belongs to its item`() throws {
    // The whole value of one record replaces that of another.
    let journal = try scratch.bytes(of: "journal")
    let range = { (number: Int) in
      let start = Self.start(ofRecord: number) + Self.valueOffset
      return start..<start + 64
    }
    var swapped = journal
    swapped.replaceSubrange(range(2), with: journal[range(3)])
    try scratch.overwrite("journal", with: swapped)
    let store = try scratch.open()
    #expect(try code { _ = try store.text("item 2") } == StoreError.corrupt)
    #expect(try store.text("item 3") == "value of item 3")
  }
}
