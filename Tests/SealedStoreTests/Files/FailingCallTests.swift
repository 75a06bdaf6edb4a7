import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests in which every system call of a long life fails once.
@Suite(.onOwnThread) struct FailingCallTests {
  let scratch: Scratch
  let second: RawKey

  init() throws {
    scratch = try Scratch()
    second = try RawKey(RawKey.random(), label: "second")
    let store = try scratch.create()
    try store.put("old", as: "item")
    try store.put("old", as: "gone")
    try store.put("old", as: "kept")
  }

  /// The values that a reader may find after some operations succeeded and others failed.
  private struct Expected {
    var items: [String: Set<String?>] = ["item": ["old"], "gone": ["old"], "kept": ["old"]]
    var slotCounts: Set<Int> = [1]

    mutating func put(_ value: String?, as identifier: String, _ outcome: StoreError.Code?) {
      if outcome == nil { items[identifier] = [value] }
      if outcome == StoreError.outcomeUnknown {
        items[identifier, default: [nil]].insert(value)
      }
    }
  }

  /// The errors that may result from a failed call: a failed read is neither damage nor absence.
  private static let allowed: Set<StoreError.Code?> = [
    nil, StoreError.io, StoreError.outcomeUnknown,
  ]

  @Test func `a call that fails once causes a typed error, the old or the new value, and no leak`()
    throws
  {
    let template = try RecordedDisk.read(scratch.path)
    var number = 1
    while true {
      let path = scratch["life \(number)"]
      try RecordedDisk.write(template, to: path)
      let disk = FaultyFileSystem { [number] in $0.number == number ? .fail(EIO) : nil }
      let expected = try live(at: path, on: disk)
      let failed = disk.calls.count >= number ? disk.calls[number - 1] : nil
      let what = Comment(
        rawValue: "call \(number), \(failed.map { "\($0.kind) \($0.name)" } ?? "")")

      #expect(disk.lockCount == 0, what)
      #expect(disk.openNames == [], what)
      #expect(disk.wrongCloseCount == 0, what)
      #expect(try openDescriptors(below: path) == [], what)
      try check(expected, at: path, what)
      guard failed != nil else { break }
      number += 1
    }
    #expect(number > 150)
  }

  /// Performs every operation of a store, and returns the possible results.
  private func live(at path: String, on disk: FaultyFileSystem) throws -> Expected {
    var expected = Expected()
    var store: SealedFileStore?
    let opening = try code {
      store = try SealedFileStore.open(
        at: path, key: scratch.key, environment: StoreEnvironment(fileSystem: disk))
    }
    #expect(Self.allowed.contains(opening))
    guard let store else { return expected }

    for (identifier, value) in [("item", "new"), ("fresh", "new")] {
      let outcome = try tried { try store.put(value, as: identifier) }
      expected.put(value, as: identifier, outcome)
    }
    let removal = try tried {
      try store.apply([.remove(name("gone")), .put(secret("2"), for: name("fresh"))])
    }
    expected.put(nil, as: "gone", removal)
    expected.put("2", as: "fresh", removal)
    try tried {
      let (value, isThere) = (try store.text("kept"), try store.contains(name("kept")))
      let names = try store.names(in: nil)
      #expect(value == "old" && isThere && names.contains { $0.identifier == "kept" })
    }
    let slot = try tried { try store.addSlot(second) }
    if slot == nil { expected.slotCounts = [2] }
    if slot == StoreError.outcomeUnknown { expected.slotCounts = [1, 2] }
    try tried { try store.compact() }
    try tried { try store.rotate() }
    try tried { _ = try store.verify() }
    try tried { _ = try store.keySlots() }
    try tried { try store.withExclusiveAccess(to: name("item"), timeout: .seconds(1)) {} }
    let last = try tried { try store.put("last", as: "item") }
    expected.put("last", as: "item", last)
    store.lock()
    try tried { try store.unlock(with: scratch.key) }
    return expected
  }

  @discardableResult
  private func tried(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) throws -> StoreError.Code? {
    let outcome = try code(body)
    #expect(Self.allowed.contains(outcome), sourceLocation: sourceLocation)
    return outcome
  }

  private func check(_ expected: Expected, at path: String, _ what: Comment) throws {
    let store = try SealedFileStore.open(at: path, key: scratch.key)
    for (identifier, values) in expected.items {
      let value = try store.text(identifier)
      #expect(values.contains(value), what)
    }
    let slotCount = try store.keySlots().count
    #expect(expected.slotCounts.contains(slotCount), what)
    #expect(try store.verify().isSound, what)
    try store.put("after", as: "item")
    #expect(try store.verify().findings.filter { $0.part != .files } == [], what)
    let names = Set(try FileManager.default.contentsOfDirectory(atPath: path))
    #expect(names == storeFiles, what)
  }

  /// Returns the paths below a directory that this process has open.
  private func openDescriptors(below path: String) throws -> [String] {
    let manager = FileManager.default
    // Another test may close a descriptor between listing and reading.
    return try manager.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
      try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
    }.filter { $0.hasPrefix(path + "/") || $0 == path }
  }

  @Test func `a store that is refused leaves no descriptor open`() throws {
    let disk = FaultyFileSystem()
    #expect(unsafe chmod(scratch.path, 0o755) == 0)
    #expect(
      try code { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) }
        == StoreError.unsafePermissions)
    #expect(unsafe chmod(scratch.path, 0o700) == 0)
    for name in storeFiles {
      #expect(unsafe chmod(scratch.file(name), 0o644) == 0)
      _ = try code { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) }
      #expect(unsafe chmod(scratch.file(name), 0o600) == 0)
    }
    let stranger = try RawKey(RawKey.random())
    _ = try code {
      _ = try SealedFileStore.open(
        at: scratch.path, key: stranger, environment: StoreEnvironment(fileSystem: disk))
    }
    #expect(disk.openNames == [])
    #expect(disk.wrongCloseCount == 0)
  }
}
