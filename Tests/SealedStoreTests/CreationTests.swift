import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

@Suite struct CreationTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private func makeDirectory(mode: Int = 0o700) throws {
    try FileManager.default.createDirectory(
      atPath: scratch.path, withIntermediateDirectories: false,
      attributes: [.posixPermissions: mode])
  }

  @Test func `a new store has its five files, all of mode 0600, in a directory of mode 0700`()
    throws
  {
    _ = try scratch.create()
    #expect(try scratch.names() == storeFiles)
    let manager = FileManager.default
    for name in storeFiles {
      let mode = try manager.attributesOfItem(atPath: scratch.file(name))[.posixPermissions]
      #expect(mode as? Int == 0o600, "\(name)")
    }
    let mode = try manager.attributesOfItem(atPath: scratch.path)[.posixPermissions]
    #expect(mode as? Int == 0o700)
  }

  @Test func `a store can be made in an empty directory`() throws {
    try makeDirectory()
    try scratch.create().put("value", as: "item")
    #expect(try scratch.open().text("item") == "value")
  }

  @Test func `a store is not made over another`() throws {
    try scratch.create().put("value", as: "item")
    let other = try RawKey(RawKey.random())
    #expect(
      try code { _ = try SealedFileStore.create(at: scratch.path, key: other) }
        == StoreError.alreadyExists)
    #expect(try scratch.open().text("item") == "value")
  }

  @Test(arguments: ["header", "header.copy"])
  func `a store is not made over one that has only one of its headers`(missing: String) throws {
    _ = try scratch.create()
    try FileManager.default.removeItem(atPath: scratch.file(missing))
    let refusal = try error { _ = try scratch.create() }
    #expect(refusal.code == .alreadyExists)
    #expect(refusal.reason == "there is a store already")
  }

  @Test(arguments: ["notes.txt", "journal.next", "tail-1"])
  func `a store is not made where other files are`(name: String) throws {
    try makeDirectory()
    let path = scratch.file(name)
    #expect(FileManager.default.createFile(atPath: path, contents: Data("mine".utf8)))
    #expect(try code { _ = try scratch.create() } == StoreError.alreadyExists)
    #expect(try scratch.names() == [name])
  }

  @Test func `a store is not made over a journal with records, even without a header`() throws {
    try scratch.create().put("value", as: "item")
    let journal = try scratch.bytes(of: "journal")
    for name in ["header", "header.copy"] {
      try FileManager.default.removeItem(atPath: scratch.file(name))
    }
    #expect(try code { _ = try scratch.create() } == StoreError.alreadyExists)
    #expect(try scratch.bytes(of: "journal") == journal)
  }

  @Test func `a missing parent directory is unavailable and nothing is made`() throws {
    let path = scratch["absent/store"]
    let refusal = try error { _ = try SealedFileStore.create(at: path, key: scratch.key) }
    #expect(refusal.code == .unavailable)
    #expect(refusal.reason == "the directory above it does not exist")
    let disk = FaultyFileSystem { $0.kind == .makeDirectory ? .fail(EIO) : nil }
    #expect(
      try code { _ = try scratch.create(StoreEnvironment(fileSystem: disk)) } == StoreError.io)
    #expect(!FileManager.default.fileExists(atPath: scratch["absent"]))
  }

  @Test func `a relative path, one with odd letters and one below a link lead to the store`() throws
  {
    let odd = scratch["it's a \"store\" of $mine; rm"]
    try SealedFileStore.create(at: odd, key: scratch.key).put("odd", as: "item")
    #expect(try SealedFileStore.open(at: odd, key: scratch.key).text("item") == "odd")

    try FileManager.default.createSymbolicLink(
      atPath: scratch["link"], withDestinationPath: scratch.place)
    let below = scratch["link/below"]
    try SealedFileStore.create(at: below, key: scratch.key).put("below", as: "item")
    #expect(try SealedFileStore.open(at: below, key: scratch.key).text("item") == "below")
    #expect(
      try SealedFileStore.open(at: scratch["below"], key: scratch.key).text("item")
        == "below")
  }

  @Test func `a directory that others can read is refused with the command that fixes it`() throws {
    try makeDirectory(mode: 0o755)
    let error = try error { _ = try scratch.create() }
    #expect(error.code == .unsafePermissions)
    #expect(error.remedy == "Run chmod -R go= \(scratch.path)")
    #expect(try scratch.names() == [])
  }

  @Test func `no directory that is not a store's gets advice on its mode`() throws {
    // As /, /etc and /home are.
    try makeDirectory(mode: 0o755)
    try Data().write(to: URL(filePath: scratch.file("passwd")))
    let creation = try error { _ = try scratch.create() }
    #expect(creation.code == .unsafePermissions)
    #expect(creation.remedy == "Name a directory that does not exist yet")
    let opening = try error { _ = try scratch.open() }
    #expect(opening.code == .unavailable)
    #expect(opening.reason == "there is no store in this directory")
    #expect(try scratch.names() == ["passwd"])
  }

  @Test func `the files have their mode whatever the mask of the process`() throws {
    try makeDirectory(mode: 0o700)
    let worker = try Worker("masked", scratch.path, scratch.writeKeyFile())
    #expect(worker.lines() == ["done"])
    let names = try scratch.names()
    #expect(names == storeFiles)
    for name in names {
      let attributes = try FileManager.default.attributesOfItem(atPath: scratch.file(name))
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
  }

  @Test(arguments: ["0777", "0277", "0477", "0077"])
  func `directories can be used by their owner whatever the mask of the process`(
    mask: String
  ) throws {
    if geteuid() == 0 { #expect(unsafe chown(scratch.place, 65534, 65534) == 0) }
    let worker = try Worker("masked-directories", scratch["above/between/below"], mask)
    #expect(worker.lines() == ["done"])
    for path in ["above", "above/between", "above/between/below"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: scratch[path])
      #expect(attributes[.posixPermissions] as? Int == 0o700, "\(path)")
    }
  }

  @Test func `a slot maker that fails leaves nothing, and creating can be tried again`() throws {
    #expect(
      try code { _ = try SealedFileStore.create(at: scratch.path, key: FailingKey()) }
        == StoreError.keyMissing)
    #expect(!FileManager.default.fileExists(atPath: scratch.path))
    try scratch.create().put("value", as: "item")
  }

  @Test func `a slot maker is not asked if the store cannot be created`() throws {
    let source = CountingKey(key: scratch.key)
    #expect(
      try code { _ = try SealedFileStore.create(at: scratch["absent/store"], key: source) }
        == StoreError.unavailable)
    try makeDirectory(mode: 0o755)
    #expect(
      try code { _ = try SealedFileStore.create(at: scratch.path, key: source) }
        == StoreError.unsafePermissions)
    #expect(source.questions.value == [])
  }

  @Test func `a slot maker is asked once to make a store, and never to use it`() throws {
    let source = CountingKey(key: scratch.key)
    let store = try SealedFileStore.create(at: scratch.path, key: source)
    try store.put("value", as: "item")
    try store.rotate()
    #expect(try store.text("item") == "value")
    #expect(source.questions.value == ["make"])
  }

  @Test func `a store can be created over the remains of a creation interrupted at any call`()
    throws
  {
    // Creation is interrupted at every call in turn. Nothing is cleaned up: every later call
    // fails too, as if the process had died.
    var callCount = 1
    while true {
      let scratch = try Scratch()
      let disk = FaultyFileSystem { [callCount] in $0.number >= callCount ? .fail(5) : nil }
      let result = Result { () throws(StoreError) in
        try scratch.create(StoreEnvironment(fileSystem: disk))
      }
      if case .success = result { break }
      // With a header it is a store and must open.
      let hasHeader =
        try FileManager.default.fileExists(atPath: scratch.path)
        && !scratch.names().isDisjoint(with: ["header", "header.copy"])
      let store = hasHeader ? try scratch.open() : try scratch.create()
      try store.put("value", as: "item")
      #expect(try scratch.open().text("item") == "value", "call \(callCount)")
      #expect(try scratch.names() == storeFiles, "call \(callCount)")
      callCount += 1
    }
    #expect(callCount > 20)
  }

  @Test func `a store without headers is corrupt with records, and absent without records`()
    throws
  {
    try scratch.create().put("value", as: "item")
    for name in ["header", "header.copy"] {
      try FileManager.default.removeItem(atPath: scratch.file(name))
    }
    #expect(try code { _ = try scratch.open() } == StoreError.corrupt)
    #expect(try SealedFileStore.exists(at: scratch.path))
    #expect(try code { _ = try scratch.create() } == StoreError.alreadyExists)

    // These are the remains of an interrupted creation.
    #expect(unsafe truncate(scratch.file("journal"), 64) == 0)
    #expect(try code { _ = try scratch.open() } == StoreError.unavailable)
    #expect(try !SealedFileStore.exists(at: scratch.path))
    #expect(try scratch.create().text("item") == nil)
  }

  @Test func `a missing store is unavailable, and a file in its place is refused`() throws {
    let absence = try error { _ = try scratch.open() }
    #expect(absence.code == .unavailable)
    #expect(absence.reason == "there is no store here")
    try makeDirectory()
    #expect(try code { _ = try scratch.open() } == StoreError.unavailable)
    #expect(
      try code { _ = try SealedFileStore.keySlots(at: scratch.path) } == StoreError.unavailable)
    let file = scratch["file"]
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    #expect(
      try code { _ = try SealedFileStore.open(at: file, key: scratch.key) }
        == StoreError.unsafePermissions)
  }

  @Test func `only one of eight threads that create a store at the same time succeeds`() throws {
    let outcomes = Locked<[StoreError.Code?]>([])
    try inThreads(8) { [scratch] _ in
      let outcome = try code { _ = try scratch.create() }
      outcomes.withLock { $0.append(outcome) }
    }
    #expect(outcomes.value.count { $0 == nil } == 1)
    #expect(outcomes.value.count { $0 == StoreError.alreadyExists } == 7)
    try scratch.open().put("value", as: "item")
  }
}

/// A slot maker without a key.
private struct FailingKey: SlotMaker {
  private var failure: StoreError {
    StoreError(.keyMissing, store: "test", reason: "there is no key")
  }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    throw failure
  }
}

/// A key that records the calls to it.
private struct CountingKey: KeySource, SlotMaker {
  let key: RawKey
  let questions = Locked<[String]>([])

  func wrappingKey(for slot: KeySlot.Parameters) -> WrappingKey? {
    questions.withLock { $0.append("open") }
    return key.wrappingKey(for: slot)
  }

  func makeSlot() -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    questions.withLock { $0.append("make") }
    return key.makeSlot()
  }
}
