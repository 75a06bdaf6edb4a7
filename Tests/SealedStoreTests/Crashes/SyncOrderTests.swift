import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of the order of writes, syncs and renames that the format requires.
///
/// The replays test the effect of a missing sync; these tests show which sync is missing.
@Suite(.onOwnThread) struct SyncOrderTests {
  let scratch: Scratch
  private let disk = FaultyFileSystem()

  private static let header = [
    "write replacement", "sync replacement", "rename header", "sync directory",
    "write replacement", "sync replacement", "rename header.copy", "sync directory",
  ]
  private static let change = ["write journal", "sync journal", "write mark"]
  private static let rewriting = [
    "write journal.next", "write journal.next", "sync journal.next", "rename journal",
    "sync directory", "write mark",
  ]

  init() throws {
    scratch = try Scratch()
  }

  @Test func `a new directory is on the disk together with each new directory above it`() throws {
    let before = disk.count(.synchronize)
    try disk.makeDirectories(scratch["above/between/below"])
    #expect(disk.count(.synchronize) == before + 3)
    try disk.makeDirectories(scratch["above/beside"])
    #expect(disk.count(.synchronize) == before + 4)
    disk.setRule { $0.kind == .makeDirectory ? .fail(EACCES) : nil }
    try disk.makeDirectories(scratch["above/beside"])
    let refusal = try code { try disk.makeDirectories(scratch["above/new"]) }
    #expect(refusal == StoreError.accessDenied)
  }

  private func create() throws -> SealedFileStore {
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("value", as: "item")
    disk.setRule(nil)
    return store
  }

  /// Opens a handle that has not written yet.
  private func open() throws -> SealedFileStore {
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    disk.setRule(nil)
    return store
  }

  /// Returns all writes, syncs, renames and truncations since the last call.
  private func steps() -> [String] {
    let steps = disk.calls.compactMap { call -> String? in
      let name =
        switch call.name {
        case scratch.path: "directory"
        case "\(scratch.place)/.": "parent"
        default: call.name
        }
      return switch call.kind {
      case .write, .rename, .truncate: "\(call.kind.rawValue) \(name)"
      case .synchronize, .synchronizeData: "sync \(name)"
      default: nil
      }
    }
    disk.setRule(nil)
    return steps
  }

  @Test func `a new store is durable from the directory above down, its header last`() throws {
    _ = try scratch.create(StoreEnvironment(fileSystem: disk))
    #expect(
      steps() == [
        "sync parent", "write journal", "sync journal", "write mark", "sync mark",
        "sync directory",
      ] + Self.header)
  }

  @Test func `a change is synced before it is marked`() throws {
    let store = try create()
    try store.put("2", as: "item")
    #expect(steps() == Self.change)
  }

  @Test func `a handle that did not name the journal syncs the directory before its first change`()
    throws
  {
    _ = try create()
    let store = try open()
    try store.put("2", as: "item")
    #expect(steps() == ["sync directory"] + Self.change)
    try store.put("3", as: "item")
    #expect(steps() == Self.change)
  }

  @Test func `a change that another handle confirmed is not written again`() throws {
    _ = try create()
    let store = try open()
    try store.put("2", as: "item")
    try scratch.open().put("3", as: "item")
    _ = steps()
    try store.put("4", as: "item")
    #expect(steps() == Self.change)
  }

  @Test func `the mark is opened once, and held`() throws {
    let store = try create()
    for _ in 0..<3 { try store.put("2", as: "item") }
    #expect(disk.calls.count { $0.kind == .open && $0.name == "mark" } == 0)
  }

  @Test func `a mark that is missing is replaced durably before a repaired journal counts`() throws
  {
    let store = try create()
    try FileManager.default.removeItem(atPath: scratch.file("mark"))
    #expect(try code { try store.put("2", as: "item") } == StoreError.corrupt)
    #expect(steps() == [])
    #expect(try store.repair().wasNeeded)
    let steps = steps()
    // The journal is written first: without space for it, the damaged one must stay as readable.
    let placing = try #require(Self.rewriting.firstIndex(of: "rename journal"))
    let replacing = ["write replacement", "sync replacement", "rename mark", "sync directory"]
    let expected = Self.rewriting[..<placing] + replacing + Self.rewriting[placing...]
    #expect(steps.suffix(expected.count) == expected)
    #expect(try scratch.open().text("item") == "value")
  }

  @Test func `an operation that changes nothing writes nothing`() throws {
    let store = try create()
    try store.remove(name("absent"))
    #expect(steps() == [])
    disk.setRule(nil)
    try store.apply([])
    #expect(disk.calls == [])
  }

  @Test func `the written part of a change that failed is cut off durably`() throws {
    let store = try create()
    disk.setRule { call in
      guard call.kind == .write else { return nil }
      return call.number % 2 == 1 ? .short(100) : .fail(ENOSPC)
    }
    #expect(try code { try store.put("2", as: "item") } == StoreError.noSpace)
    let failed = steps()
    #expect(failed.suffix(3) == ["write journal", "truncate journal", "sync journal"])
    #expect(failed.count { $0 == "write journal" } == failed.count - 2)
  }

  @Test func `a change that may not be durable is written and synced again by an opening`() throws {
    let first = try create()
    let mark = try scratch.bytes(of: "mark")
    try first.put("2", as: "item")
    try scratch.overwrite("mark", with: mark)
    disk.setRule(nil)
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(steps() == ["write journal", "sync journal", "sync directory", "write mark"])
    try store.put("3", as: "item")
    #expect(steps() == Self.change)
    #expect(try store.text("item") == "3")
  }

  @Test func `remains are cut off, and replaced by a void change that is synced and marked`() throws
  {
    _ = try create()
    let journal = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: journal + [UInt8](repeating: 1, count: 300))
    _ = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(
      steps() == [
        "truncate journal", "write journal", "sync journal", "sync directory", "write mark",
      ])
  }

  @Test func `the old mark, and then a new journal, are durable before it takes its place`() throws
  {
    let store = try create()
    try store.compact()
    #expect(steps() == ["write mark", "sync mark"] + Self.rewriting)
  }

  @Test func `a rotation's header is durable before the journal that needs it`() throws {
    let store = try create()
    try store.rotate()
    #expect(
      steps() == ["write header.next", "sync header.next", "sync directory"]
        + ["write mark", "sync mark"] + Self.rewriting + Self.header + ["sync directory"])
  }

  @Test func `a rotation is finished only when its journal's name is durable`() throws {
    let store = try create()
    disk.setRule { $0.kind == .rename && $0.name == "header" ? .fail(EIO) : nil }
    try store.rotate()
    disk.setRule(nil)
    try open().put("2", as: "item")
    #expect(
      steps() == ["sync directory"] + Self.header + ["sync directory", "sync directory"]
        + Self.change)
  }

  @Test func `a change of slots writes the header and then its copy`() throws {
    let store = try create()
    try store.addSlot(scratch.key)
    #expect(steps() == Self.header)
  }

  @Test func `a key file and its name are durable before the key is used`() throws {
    try SecretFile.create(scratch["key"], content: RawKey.random(), fileSystem: disk)
    let kinds: [FaultyFileSystem.Call.Kind] = [.write, .synchronize, .link, .synchronize, .remove]
    #expect(disk.calls.map(\.kind).filter(kinds.contains) == kinds)
    #expect(steps().last == "sync parent")
  }

  @Test func `a damaged journal is kept durably before another takes its place`() throws {
    try create().put("other", as: "other")
    try scratch.flip("journal", at: 100)
    let store = try open()
    #expect(try store.repair().wasNeeded)
    let steps = steps().filter { !$0.hasPrefix("write") }
    let kept = try #require(steps.first { $0.hasPrefix("truncate ") }?.dropFirst(9))
    #expect(kept.hasPrefix("damaged-"))
    #expect(
      steps == [
        "truncate \(kept)", "sync \(kept)", "sync directory", "sync journal.next", "sync mark",
        "rename journal", "sync directory",
      ])
  }
}
