import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of items that are longer than the buffers for reading and rewriting.
@Suite(.onOwnThread) struct LargeItemTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// Returns random bytes, which differ from item to item.
  private func value(_ byteCount: Int, seed: UInt64) -> SecretBytes {
    SecretBytes(SeededRandom.bytes(byteCount, seed: seed, number: 1))
  }

  @Test func `items of every size are listed, compacted and rotated completely`() throws {
    // The window for reading has 256 KiB, the buffer for rewriting 1 MiB.
    let sizes = [
      0, 100_000, 200_000, 253_000, 300_000, 600_000, 600_000, 1_500_000, 10, 3_000_000, 20,
    ]
    let store = try scratch.create()
    var expected: [ItemName: [UInt8]] = [:]
    for (position, size) in sizes.enumerated() {
      let name = try name("item \(position)")
      let value = value(size, seed: UInt64(position))
      expected[name] = value.copyBytes()
      try store.put(secret("older"), for: name)
      try store.put(value, for: name)
    }
    #expect(try store.contents() == expected)
    #expect(try store.compact() > 0)
    #expect(try store.contents() == expected)
    #expect(try scratch.open().contents() == expected)
    try store.rotate()
    #expect(try store.contents() == expected)
    let opened = try scratch.open()
    #expect(try opened.contents() == expected)
    let report = try opened.verify()
    #expect(report.findings.isEmpty)
    #expect(report.recordCount == sizes.count)
    // A rewritten journal has no superseded records.
    #expect(try opened.compact() == 0)
  }

  @Test func `an excerpt ends with the value that makes it longer than 4 MiB`() throws {
    let store = try scratch.create()
    let names = try (0..<3).map { try name("item \($0)") }
    let values = (0..<3).map { value(3 << 20, seed: $0) }
    for (name, value) in zip(names, values) { try store.put(value, for: name) }
    let found = try store.values(ofFirst: names[...])
    #expect(found == Array(values.prefix(2)))
  }

  @Test func `a change of exactly a gibibyte is not too large`() throws {
    // Its size is checked before the store's state, so that not as much has to be written here.
    let store = try scratch.create()
    store.lock()
    // These are lengths of padded values: a record is 168 bytes longer, a value 4 bytes shorter.
    let lengths = Array(repeating: 1 << 24, count: 63) + [63 << 18, 61 << 12, 960, 72]
    #expect(lengths.reduce(0) { $0 + 168 + $1 } == SealedFileStore.maximumChangeByteCount)
    let values = Dictionary(
      uniqueKeysWithValues: Set(lengths).map { length in
        (length, SecretBytes([UInt8](repeating: 7, count: length - 4)))
      })
    var changes: [StoreChange] = []
    for (number, length) in lengths.enumerated() {
      changes.append(.put(try #require(values[length]), for: try name("\(number)")))
    }
    #expect(try code { try store.apply(changes) } == StoreError.locked)
    changes.append(.put(secret("1"), for: try name("more")))
    #expect(try code { try store.apply(changes) } == StoreError.valueTooLarge)
  }

  @Test(arguments: [nil, 0, 5200, 1 << 20 + 1])
  func `a change within the store's traits is not too large`(valueByteCount: Int?) throws {
    // Its size is checked before the store's state, so that not as much has to be written here.
    let store = try scratch.create()
    store.lock()
    let value = valueByteCount.map { SecretBytes([UInt8](repeating: 7, count: $0)) }
    var (changes, byteCount): ([StoreChange], Int) = ([], 0)
    while changes.count < store.traits.maximumChangeCount {
      let name = try name("item \(changes.count)")
      let change: StoreChange = if let value { .put(value, for: name) } else { .remove(name) }
      guard byteCount + change.listByteCount <= store.traits.maximumListByteCount else { break }
      byteCount += change.listByteCount
      changes.append(change)
    }
    #expect(changes.count > 400)
    #expect(try code { try store.apply(changes) } == StoreError.locked)
  }

  @Test func `a change of more than a gibibyte is refused before anything is written`() throws {
    let store = try scratch.create()
    try store.put("value", as: "item")
    let before = try RecordedDisk.read(scratch.path)
    // One value for all, so that the test needs the memory once.
    let value = SecretBytes([UInt8](repeating: 7, count: SealedFileStore.maximumValueByteCount))
    let changes = try (0..<64).map { StoreChange.put(value, for: try name("\($0)")) }
    let error = try error { try store.apply(changes) }
    #expect(error.code == .valueTooLarge)
    #expect(error.remedy?.contains("\(SealedFileStore.maximumChangeByteCount)") == true)
    #expect(try RecordedDisk.read(scratch.path) == before)
  }
}
