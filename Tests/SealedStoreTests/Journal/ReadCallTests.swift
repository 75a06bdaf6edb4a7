import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of the system calls for reads and writes of an open store.
@Suite struct ReadCallTests {
  let scratch: Scratch
  let disk = FaultyFileSystem()
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create(StoreEnvironment(fileSystem: disk))
    for number in 0..<10 { try store.put("value \(number)", as: "item \(number)") }
    // Opening has just checked the names.
    _ = try store.text("item 0")
  }

  private func calls(of body: () throws -> Void) throws -> [FaultyFileSystem.Call] {
    disk.setRule(nil)
    try body()
    return disk.calls
  }

  /// Runs a closure right after the names were checked, so that no read checks them.
  ///
  /// Reads check them again after 100 ms; a closure that takes too long is repeated.
  private func rightAfterCheckingNames(_ body: () throws -> Void) throws {
    for _ in 0..<100 {
      Thread.sleep(forTimeInterval: 0.11)
      let start = ContinuousClock.now
      _ = try store.contains(name("item 0"))
      try body()
      if ContinuousClock.now - start < .milliseconds(80) { return }
    }
    Issue.record("the machine is too busy")
  }

  @Test func `a get reads the mark and the record, and makes no other call`() throws {
    let journal = try scratch.bytes(of: "journal").count
    var found: [FaultyFileSystem.Call] = []
    try rightAfterCheckingNames {
      // This handle has not read the item.
      let store = try SealedFileStore.open(
        at: scratch.path, key: scratch.key, environment: StoreEnvironment(fileSystem: disk))
      found = try calls {
        let text = try store.text("item 3")
        #expect(text == "value 3")
      }
    }
    #expect(found.map(\.kind) == [.read, .read])
    #expect(found.map(\.name) == ["mark", "journal"])
    #expect(found.map(\.range) == [0..<64, 88 + 3 * 232..<88 + 4 * 232])
    #expect(journal == 88 + 10 * 232)
  }

  @Test func `a get of an item that was read before reads only the mark`() throws {
    let items = ["3", "4", "5"]
    for item in items { _ = try store.text("item \(item)") }
    var found: [FaultyFileSystem.Call] = []
    try rightAfterCheckingNames {
      found = try calls {
        for item in items { try #expect(store.text("item \(item)") == "value \(item)") }
      }
    }
    #expect(found.map(\.name) == ["mark", "mark", "mark"])
  }

  @Test func `a get after a change by any handle does not return the previous value`() throws {
    _ = try store.text("item 3")
    try store.put("newer", as: "item 3")
    #expect(try store.text("item 3") == "newer")
    try SealedFileStore.open(at: scratch.path, key: scratch.key).put("newest", as: "item 3")
    #expect(try store.text("item 3") == "newest")
    try store.remove(name("item 3"))
    #expect(try store.text("item 3") == nil)
    try store.put("again", as: "item 3")
    try store.compact()
    #expect(try store.text("item 3") == "again")
  }

  @Test func `with more than 256 items, or for a long item, every get reads the record`()
    throws
  {
    func names(_ item: String) throws -> [String] {
      _ = try store.text(item)
      var found: [FaultyFileSystem.Call] = []
      try rightAfterCheckingNames { found = try calls { _ = try store.text(item) } }
      return found.map(\.name)
    }
    try store.put(String(repeating: "x", count: 5000), as: "long")
    #expect(try names("long") == ["mark", "journal"])
    for number in 10..<255 { try store.put("value \(number)", as: "item \(number)") }
    #expect(try store.names(in: nil).count == 256)
    #expect(try names("item 3") == ["mark"])
    try store.put("value 255", as: "item 255")
    #expect(try names("item 3") == ["mark", "journal"])
  }

  @Test func `no more than 256 records are kept`() throws {
    // They are all of one item, which has this many records one after the other.
    for number in 0..<256 {
      try store.put("\(number)", as: "item 1")
      #expect(try store.text("item 1") == "\(number)")
    }
    var found: [FaultyFileSystem.Call] = []
    try store.put("last", as: "item 1")
    _ = try store.text("item 1")
    try rightAfterCheckingNames { found = try calls { _ = try store.text("item 0") } }
    #expect(found.map(\.name) == ["mark", "journal"], "earlier records are no longer kept")
  }

  @Test func `whether an item exists is known from the mark alone`() throws {
    for identifier in ["item 3", "absent"] {
      var found: [FaultyFileSystem.Call] = []
      try rightAfterCheckingNames {
        found = try calls { _ = try store.contains(name(identifier)) }
      }
      #expect(found.map(\.kind) == [.read])
      #expect(found.map(\.name) == ["mark"])
    }
    var found: [FaultyFileSystem.Call] = []
    try rightAfterCheckingNames { found = try calls { _ = try store.text("absent") } }
    #expect(found.map(\.name) == ["mark"])
  }

  @Test func `reads check the names at most every 100 ms`() throws {
    let start = ContinuousClock.now
    let found = try calls {
      while ContinuousClock.now - start < .milliseconds(550) { _ = try store.text("item 1") }
    }
    let readCount = found.count { $0.kind == .read && $0.name == "mark" }
    let checks = found.filter { $0.kind == .status }
    let most = Int((ContinuousClock.now - start) / .milliseconds(100)) + 1
    #expect(readCount > checks.count)
    #expect(Set(checks.map(\.name)) == ["journal", "mark"])
    #expect((1...most).contains(checks.count { $0.name == "journal" }))
    #expect((1...most).contains(checks.count { $0.name == "mark" }))
  }

  @Test func `a read after 100 ms detects that journal and mark were replaced`() throws {
    let copy = try Scratch()
    try RecordedDisk.write(RecordedDisk.read(scratch.path), to: copy.path)
    try SealedFileStore.open(at: copy.path, key: scratch.key).put("newer", as: "item 1")
    for file in ["journal", "mark"] {
      let path = scratch.file(file)
      #expect(unsafe rename(copy.file(file), path) == 0)
    }
    Thread.sleep(forTimeInterval: 0.11)
    #expect(try store.text("item 1") == "newer")
  }

  @Test func `the next read detects that the mark was truncated`() throws {
    let mark = try scratch.bytes(of: "mark")
    try rightAfterCheckingNames {
      try scratch.overwrite("mark", with: Array(mark[..<40]))
      #expect(try code { _ = try store.text("item 3") } == StoreError.corrupt)
      try scratch.overwrite("mark", with: mark)
      #expect(try store.text("item 3") == "value 3")
    }
  }

  @Test func `a list reads no long value`() throws {
    // The first two would each fit into a window, but not both into that of the short records.
    for number in 1...6 {
      let text = String(repeating: "x", count: number * 100_000)
      try store.put(text, as: "long \(number)")
    }
    let found = try calls { try #expect(store.names(in: nil).count == 16) }
    let byteCount = found.filter { $0.kind == .read && $0.name == "journal" }
      .reduce(0) { $0 + $1.byteCount }
    // One window for the short records, and the prefix and the name of each long record.
    #expect(byteCount < 256 * 1024 + 4 * 512, "\(byteCount)")
  }

  @Test func `every change checks the names`() throws {
    for number in 0..<5 {
      let found = try calls { try store.put("\(number)", as: "item") }
      let checks = found.filter { $0.kind == .status && $0.opening == 0 }.map(\.name)
      #expect(checks.contains("journal") && checks.contains("mark"), "\(checks)")
    }
  }

  @Test func `a change writes the journal once, syncs it once, and writes the mark`() throws {
    try store.put("1", as: "item")
    let found = try calls { try store.put("2", as: "item") }
    let writing = found.filter { ![.status, .read, .lock, .open].contains($0.kind) }
    #expect(writing.map(\.kind) == [.write, .synchronizeData, .write])
    #expect(writing.map(\.name) == ["journal", "journal", "mark"])
    #expect(writing.last?.range == 0..<64)
  }
}
