import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct HeaderCopyTests {
  let scratch: Scratch
  let header: [UInt8]

  init() throws {
    scratch = try Scratch()
    try scratch.create().put("value", as: "item")
    header = try scratch.bytes(of: "header")
  }

  enum Harm: String, CaseIterable {
    case missing, empty, short, changed, zeros

    func harm(_ name: String, in scratch: Scratch) throws {
      let bytes = try scratch.bytes(of: name)
      switch self {
      case .missing: try FileManager.default.removeItem(atPath: scratch.file(name))
      case .empty: try scratch.overwrite(name, with: [])
      case .short: try scratch.overwrite(name, with: Array(bytes.dropLast(1)))
      case .changed: try scratch.flip(name, at: bytes.count / 2)
      case .zeros: try scratch.overwrite(name, with: [UInt8](repeating: 0, count: bytes.count))
      }
    }
  }

  @Test(arguments: Harm.allCases)
  func `a damaged header is replaced by its copy, and the next write makes both equal`(
    harm: Harm
  ) throws {
    try harm.harm("header", in: scratch)
    let notices = Notices()
    let store = try scratch.open(onNotice: notices)
    #expect(notices.all == [.headerReadFromCopy])
    #expect(try store.text("item") == "value")
    #expect(try store.verify().findings.map(\.part) == [.header])
    try store.put("new", as: "item")
    #expect(notices.all == [.headerReadFromCopy, .headersMadeEqual])
    #expect(try scratch.bytes(of: "header") == header)
    #expect(try scratch.bytes(of: "header.copy") == header)
    #expect(try store.verify().findings == [])
  }

  @Test(arguments: Harm.allCases)
  func `a damaged copy is reported by verify and made equal by the next write`(harm: Harm) throws {
    try harm.harm("header.copy", in: scratch)
    let notices = Notices()
    let store = try scratch.open(onNotice: notices)
    #expect(notices.all == [])
    #expect(try store.verify().findings.map(\.part) == [.headerCopy])
    try store.put("new", as: "item")
    #expect(notices.all == [.headersMadeEqual])
    #expect(try scratch.bytes(of: "header.copy") == header)
    #expect(try store.verify().findings == [])
  }

  @Test(arguments: Harm.allCases)
  func `when both are damaged no key opens the store, and nothing is removed`(harm: Harm) throws {
    try harm.harm("header", in: scratch)
    try harm.harm("header.copy", in: scratch)
    let before = try RecordedDisk.read(scratch.path)
    #expect(try code { _ = try scratch.open() } == StoreError.corrupt)
    #expect(try code { _ = try scratch.create() } != nil)
    #expect(try RecordedDisk.read(scratch.path) == before)
  }

  @Test(arguments: ["header", "header.copy"])
  func `a store without records whose last header is damaged is not an interrupted creation`(
    missing: String
  ) throws {
    let path = scratch["empty"]
    _ = try SealedFileStore.create(at: path, key: scratch.key)
    try FileManager.default.removeItem(atPath: "\(path)/\(missing)")
    let other = missing == "header" ? "header.copy" : "header"
    try Scratch.flip("\(path)/\(other)", at: 50)
    let refusal = try error { _ = try SealedFileStore.open(at: path, key: scratch.key) }
    #expect(refusal.code == .corrupt)
    #expect(refusal.reason == "the header and its copy are damaged")
  }

  @Test func `without a header it is an error to ask what protects the store`() throws {
    let store = try scratch.open()
    for name in ["header", "header.copy"] {
      try FileManager.default.removeItem(atPath: scratch.file(name))
    }
    #expect(try error { _ = try store.protection() }.code == .corrupt)
  }

  @Test func `a copy that differs is reported, is not damage, and is repaired`() throws {
    let store = try scratch.open()
    try store.addSlot(RawKey(RawKey.random(), label: "second"))
    try scratch.overwrite("header.copy", with: header)
    let report = try store.verify()
    #expect(report.findings.map(\.description) == ["the copy of the header differs from it"])
    #expect(report.isSound)
    #expect(try store.repair().wasNeeded)
    #expect(try store.verify().findings == [])
    #expect(try scratch.bytes(of: "header.copy") == scratch.bytes(of: "header"))
  }

  @Test func `repair makes both equal through a handle that has written before`() throws {
    let store = try scratch.open()
    try store.put("new", as: "item")
    for name in ["header", "header.copy"] {
      try scratch.flip(name, at: 40)
      #expect(try store.verify().findings.count == 1)
      #expect(try store.repair().wasNeeded)
      #expect(try store.verify().findings == [])
      #expect(try scratch.bytes(of: name) == header)
    }
  }

  @Test func `a slot can be added while the header is damaged`() throws {
    try scratch.flip("header", at: 40)
    let store = try scratch.open()
    let key = try RawKey(RawKey.random(), label: "second")
    try store.addSlot(key)
    #expect(try SealedFileStore.open(at: scratch.path, key: key).text("item") == "value")
    #expect(try store.verify().findings == [])
  }

  @Test func `a header that was changed with its checksum is damage, and its copy is not used`()
    throws
  {
    // The last 32 bytes are the MAC, outside of the checksum: such a change is made on purpose, and
    // the copy could be an older header.
    try scratch.flip("header", at: header.count - 1)
    #expect(try code { _ = try scratch.open() } == StoreError.corrupt)
  }

  @Test func `a change of slots whose copy cannot be written counts, and the next write fixes it`()
    throws
  {
    let disk = FaultyFileSystem()
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    try store.put("tidy", as: "item")
    let key = try RawKey(RawKey.random(), label: "second")
    disk.setRule { $0.kind == .rename && $0.name == "header.copy" ? .fail(28) : nil }
    try store.addSlot(key)
    #expect(try SealedFileStore.open(at: scratch.path, key: key).text("item") == "tidy")
    disk.setRule(nil)
    try store.put("new", as: "item")
    #expect(try store.verify().findings == [])
    #expect(try scratch.bytes(of: "header") == scratch.bytes(of: "header.copy"))
    #expect(try store.keySlots().count == 2)
  }
}
