import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// What is asked of the kernel for reads and writes of an open store.
@Suite struct ReadCallTests {
  let scratch: Scratch
  let disk = FaultyFileSystem()
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create(StoreEnvironment(fileSystem: disk))
    for number in 0..<10 { try store.put("value \(number)", as: "item \(number)") }
    // Opening looked at the names just now.
    _ = try store.text("item 0")
  }

  private func calls(of body: () throws -> Void) throws -> [FaultyFileSystem.Call] {
    disk.setRule(nil)
    try body()
    return disk.calls
  }

  /// Looks at the names, so that no read does for the next 100 ms; what takes longer than those is
  /// done again.
  private func rightAfterLookingAtNames(_ body: () throws -> Void) throws {
    for _ in 0..<100 {
      Thread.sleep(forTimeInterval: 0.11)
      _ = try store.contains(name("item 0"))
      let start = ContinuousClock.now
      try body()
      if ContinuousClock.now - start < .milliseconds(80) { return }
    }
    Issue.record("the machine is too busy")
  }

  @Test func `a get reads the mark, and the record, and asks nothing else`() throws {
    let journal = try scratch.bytes(of: "journal").count
    var found: [FaultyFileSystem.Call] = []
    try rightAfterLookingAtNames {
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

  @Test func `whether an item is there, or that it is not, is known from the mark alone`() throws {
    for identifier in ["item 3", "absent"] {
      var found: [FaultyFileSystem.Call] = []
      try rightAfterLookingAtNames {
        found = try calls { _ = try store.contains(name(identifier)) }
      }
      #expect(found.map(\.kind) == [.read])
      #expect(found.map(\.name) == ["mark"])
    }
    var found: [FaultyFileSystem.Call] = []
    try rightAfterLookingAtNames { found = try calls { _ = try store.text("absent") } }
    #expect(found.map(\.name) == ["mark"])
  }

  @Test func `reads look at the names at most every 100 ms`() throws {
    let start = ContinuousClock.now
    let found = try calls {
      while ContinuousClock.now - start < .milliseconds(550) { _ = try store.text("item 1") }
    }
    let readCount = found.count { $0.kind == .read && $0.name == "journal" }
    let looks = found.filter { $0.kind == .status }
    let most = Int((ContinuousClock.now - start) / .milliseconds(100)) + 1
    #expect(readCount > looks.count)
    #expect(Set(looks.map(\.name)) == ["journal", "mark"])
    #expect((1...most).contains(looks.count { $0.name == "journal" }))
    #expect((1...most).contains(looks.count { $0.name == "mark" }))
  }

  @Test func `a journal and a mark that were replaced are noticed by a read after 100 ms`() throws {
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

  @Test func `a list reads no long value`() throws {
    for number in 0..<4 {
      let text = String(repeating: "x", count: 20_000 + number * 200_000)
      try store.put(text, as: "long \(number)")
    }
    let found = try calls { try #expect(store.keys(in: nil).count == 14) }
    let byteCount = found.filter { $0.kind == .read && $0.name == "journal" }
      .reduce(0) { $0 + $1.byteCount }
    // One window for the short records, and of a long one the prefix and the name.
    #expect(byteCount < 256 * 1024 + 4 * 512, "\(byteCount)")
  }

  @Test func `every change looks at the names`() throws {
    for number in 0..<5 {
      let found = try calls { try store.put("\(number)", as: "item") }
      let looks = found.filter { $0.kind == .status && $0.opening == 0 }.map(\.name)
      #expect(looks.contains("journal") && looks.contains("mark"), "\(looks)")
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
