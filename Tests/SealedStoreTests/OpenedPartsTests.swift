import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// Which of the sealed parts of a record are opened for what.
@Suite struct OpenedPartsTests {
  private static let identifiers = (0..<20).map { "item \($0)" }
  /// Where the parts of a record begin; all records here are short.
  private static let (nameOffset, valueOffset) = (72, 152)
  private static func start(ofRecord number: Int) -> Int { 88 + number * 232 }

  let scratch: Scratch
  let keys: [StoreKey]

  init() throws {
    scratch = try Scratch()
    keys = try Self.identifiers.map { try name($0) }
    let store = try scratch.create()
    for key in keys { try store.put(secret("value of \(key.identifier)"), for: key) }
  }

  /// Spoils a part of every record, but not its tag, which opening a store checks.
  private func spoil(partAt offset: Int) throws {
    for number in keys.indices {
      try scratch.flip("journal", at: Self.start(ofRecord: number) + offset + 3)
    }
  }

  @Test func `a list opens no value`() throws {
    try spoil(partAt: Self.valueOffset)
    let store = try scratch.open()
    #expect(try store.keys(in: nil) == keys.sorted())
    for key in keys {
      #expect(try store.contains(key))
      #expect(try code { _ = try store.value(for: key) } == StoreError.corrupt)
    }
    let report = try store.verify()
    #expect(report.damagedItems == keys.sorted())
  }

  @Test func `a get opens no name`() throws {
    try spoil(partAt: Self.nameOffset)
    let store = try scratch.open()
    for key in keys {
      #expect(try store.contains(key))
      #expect(try store.value(for: key) == secret("value of \(key.identifier)"))
    }
    #expect(try code { _ = try store.keys(in: nil) } == StoreError.corrupt)
    #expect(try !store.verify().isSound)
  }

  @Test func `one name that was spoiled fails every list, and a compaction`() throws {
    try scratch.flip("journal", at: Self.start(ofRecord: 7) + Self.nameOffset)
    let store = try scratch.open()
    #expect(try code { _ = try store.keys(in: nil) } == StoreError.corrupt)
    #expect(try code { _ = try store.keys(in: "another") } == StoreError.corrupt)
    #expect(try code { try store.compact() } == StoreError.corrupt)
    #expect(try store.text("item 7") == "value of item 7")
  }

  @Test func `a get checks that the value is that of its item`() throws {
    // The whole value of one record in the place of another's.
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
