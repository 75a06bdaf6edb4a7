import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of repeated lists.
@Suite struct ListingTests {
  let scratch: Scratch
  let disk = FaultyFileSystem()
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    try scratch.create().apply((0..<300).map { .put(secret("v"), for: try name("item \($0)")) })
    store = try scratch.open(StoreEnvironment(fileSystem: disk))
  }

  /// Lists the names, and counts the reads of the journal for that.
  private func list(
    _ namespace: StoreNamespace? = nil
  ) throws -> (names: [ItemName], readCount: Int) {
    disk.setRule(nil)
    let names = try store.names(in: namespace)
    return (names, disk.calls.count { $0.kind == .read && $0.name == "journal" })
  }

  @Test func `a repeated list reads only the mark`() throws {
    let first = try list()
    #expect(first.names.count == 300)
    #expect(first.readCount > 0)
    for namespace in [nil, "com.example.test"] as [StoreNamespace?] {
      let again = try list(namespace)
      #expect(again.names == first.names)
      #expect(again.readCount == 0)
      #expect(disk.calls.filter { $0.kind == .read }.map(\.name) == ["mark"])
    }
    let none = try list("other")
    #expect(none.names == [])
    #expect(none.readCount == 0)
  }

  @Test func `a list has every change of this process and of others`() throws {
    let other = try scratch.open()
    for (round, (writer, reader)) in [(store, store), (other, store), (store, other)].enumerated() {
      let before = try reader.names(in: nil)
      try writer.put("new", as: "new \(round)")
      #expect(try reader.names(in: nil).count == before.count + 1)
      try writer.put("newer", as: "new \(round)")
      #expect(try reader.names(in: nil).count == before.count + 1)
      try writer.remove(name("item \(round)"))
      let after = try reader.names(in: nil)
      #expect(after.count == before.count)
      let (put, removed) = (try name("new \(round)"), try name("item \(round)"))
      #expect(after.contains(put) && !after.contains(removed))
      #expect(after == after.sorted())
    }
  }

  @Test func `a list is in ascending order even if the store's last items come first in it`()
    throws
  {
    // More than a thousand names are opened in two pieces.
    try store.apply((0..<1000).map { .put(secret("v"), for: try name("first \($0)")) })
    let names = try store.names(in: nil)
    #expect(names.count == 1300)
    #expect(names == names.sorted())
  }

  @Test func `a list during which the store is changed is not kept`() throws {
    disk.setRule(
      FaultyFileSystem.before(.read, "journal") { [store] in try store.put("new", as: "new") })
    #expect(try store.names(in: nil).count == 300)
    disk.setRule(nil)
    #expect(try store.names(in: nil).count == 301)
  }

  @Test func `a list is the same after another process compacts and rotates`() throws {
    let other = try scratch.open()
    let first = try store.names(in: nil)
    try other.compact()
    #expect(try store.names(in: nil) == first)
    try other.rotate()
    #expect(try store.names(in: nil) == first)
    try other.remove(name("item 7"))
    try other.compact()
    #expect(try store.names(in: nil).count == 299)
  }

  @Test func `names are not kept when the store is locked`() throws {
    let first = try list()
    store.lock()
    #expect(try code { _ = try store.names(in: nil) } == StoreError.locked)
    try store.unlock(with: scratch.key)
    let again = try list()
    #expect(again.names == first.names)
    #expect(again.readCount > 0)
  }

  @Test func `a damaged journal is not listed, even if it was listed before`() throws {
    _ = try store.names(in: nil)
    let other = try scratch.open()
    try other.put("1", as: "new")
    try scratch.flip("journal", at: scratch.bytes(of: "journal").count - 1)
    #expect(try code { _ = try store.names(in: nil) } == StoreError.corrupt)
  }

  @Test func `the names of very many items are not kept`() throws {
    try store.apply((300..<10_001).map { .put(secret("v"), for: try name("item \($0)")) })
    let (first, again) = (try list(), try list())
    #expect(first.names.count == 10_001)
    #expect(again.names == first.names)
    #expect(again.readCount > 0)
    // Their order in the journal is different.
    #expect(first.names == first.names.sorted())
    #expect(try store.names(in: "com.example.test") == first.names)
    #expect(try store.names(in: "other") == [])
  }
}
