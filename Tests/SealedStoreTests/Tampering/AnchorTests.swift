import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of stores whose confirmed end is also kept outside of the store, as an anchor.
@Suite(.onOwnThread) struct AnchorTests {
  let scratch: Scratch
  let vault = Vault()

  init() throws {
    scratch = try Scratch()
  }

  private func options(_ notices: Notices? = nil) -> SealedFileStore.Options {
    var options = SealedFileStore.Options(anchor: vault.keeper)
    if let notices { options.onNotice = { notices.add($0) } }
    return options
  }

  private func create() throws(StoreError) -> SealedFileStore {
    try SealedFileStore.create(at: scratch.path, key: scratch.key, options: options())
  }

  private func open(
    _ environment: StoreEnvironment = StoreEnvironment(), _ notices: Notices? = nil
  ) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.open(
      at: scratch.path, key: scratch.key, options: options(notices), environment: environment)
  }

  @Test func `every change is anchored before it returns`() throws {
    let store = try create()
    #expect(vault.saved.map(\.version) == [0])
    try store.put("1", as: "a")
    #expect(vault.saved.last?.version == 1)
    try store.apply([.put(secret("2"), for: name("b")), .put(secret("3"), for: name("c"))])
    #expect(vault.saved.last?.version == 2)
    try store.remove(name("a"))
    #expect(vault.saved.last?.version == 3)
    // A compaction is not a change, but the journal after a crash must be anchored in any case.
    let count = vault.saved.count
    try store.compact()
    #expect(vault.saved[count...].map(\.version) == [3, 3])
    #expect(vault.saved[count...].map(\.bytes.count) == [112, 64])
    #expect(try open().text("b") == "2")
  }

  @Test func `an anchor is the same after a conversion to bytes and back`() throws {
    let store = try create()
    try store.put("1", as: "a")
    try store.compact()
    for anchor in vault.saved {
      let again = try StoreAnchor(bytes: anchor.bytes)
      #expect(again == anchor)
    }
    #expect(Set(vault.saved.map(\.bytes.count)) == [64, 112])
    for count in [0, 16, 63, 65, 111, 113, 160] {
      #expect(
        try code { _ = try StoreAnchor(bytes: [UInt8](repeating: 1, count: count)) }
          == StoreError.corrupt)
    }
  }

  @Test func `a store opens with an older anchor or without one`() throws {
    let store = try create()
    try store.put("1", as: "a")
    let old = try #require(vault.saved.last)
    try store.put("2", as: "a")
    vault.put(old)
    #expect(try open().text("a") == "2")
    try store.put("3", as: "a")
    #expect(try open().text("a") == "3")
    #expect(try scratch.open().text("a") == "3")
  }

  @Test func `the anchor of another store, or of a fork of this store, is detected`() throws {
    let store = try create()
    try store.put("1", as: "a")
    let files = try RecordedDisk.read(scratch.path)
    try store.put("here", as: "a")
    let here = try #require(vault.saved.last)
    for (name, content) in files { try scratch.overwrite(name, with: content) }
    try scratch.open().put("else", as: "a")
    // The fork has the same number of changes of the same length, but different changes.
    #expect(vault.saved.last == here)
    #expect(try code { _ = try open().text("a") } == StoreError.corrupt)

    let other = try SealedFileStore.create(
      at: scratch["other"], key: scratch.key, options: options())
    try other.put("1", as: "a")
    #expect(try code { _ = try open().text("a") } == StoreError.corrupt)
  }

  @Test func `without its anchor a store does not open, but an open store can be changed`() throws {
    let notices = Notices()
    _ = try create()
    let store = try open(StoreEnvironment(), notices)
    vault.refuse()
    #expect(try code { _ = try open() } == StoreError.unavailable)
    try store.put("1", as: "a")
    let notSaved = StoreNotice.anchorNotSaved("the store's anchor could not be saved: Refusal")
    #expect(notices.all == [notSaved])
    // A new journal without an anchor could not be distinguished from an old one.
    #expect(try code { try store.compact() } == StoreError.unavailable)
    #expect(try code { try store.rotate() } == StoreError.unavailable)
    vault.refuse(false)
    #expect(try open().text("a") == "1")
    try store.compact()
    try store.rotate()
    #expect(try open().text("a") == "1")
    vault.refuse()
    let creation = try code {
      _ = try SealedFileStore.create(at: scratch["other"], key: scratch.key, options: options())
    }
    #expect(creation == StoreError.unavailable)
  }

  @Test func `of mark and anchor, the newer one counts`() throws {
    let store = try create()
    try store.put("1", as: "a")
    let mark = try scratch.bytes(of: "mark")
    try store.put("2", as: "a")
    let cut = try scratch.bytes(of: "journal")
    try store.put("3", as: "a")
    let whole = try scratch.bytes(of: "journal")
    let older = "the store is older than its anchor: an earlier state was put back"
    // Without the anchor, the last change would be the second.
    try scratch.overwrite("mark", with: mark)
    try scratch.overwrite("journal", with: cut)
    #expect(try error { _ = try open().text("a") }.reason == older)
    // Without the anchor, the third would be an unfinished write, and dropped.
    var torn = whole
    torn[cut.count + JournalLayout.value + 20] ^= 1
    try scratch.overwrite("mark", with: mark)
    try scratch.overwrite("journal", with: torn)
    #expect(try error { _ = try open().text("a") }.reason == older)
    #expect(try scratch.bytes(of: "mark") == mark)
    #expect(try scratch.bytes(of: "journal") == torn)
    // Only the mark was lost.
    try scratch.overwrite("journal", with: whole)
    #expect(try open().text("a") == "3")
  }

  @Test func `an anchor whose end is inside a journal's head is detected`() throws {
    try create().put("1", as: "a")
    var bytes = try #require(vault.saved.last).bytes
    // These bytes are the confirmed length.
    bytes.replaceSubrange(32..<40, with: [40, 0, 0, 0, 0, 0, 0, 0])
    try vault.put(StoreAnchor(bytes: bytes))
    #expect(try code { _ = try open().text("a") } == StoreError.corrupt)
  }

  @Test func `an error of a keeper is thrown unchanged, except for an unknown outcome`() throws {
    let store = try create()
    for (code, reported) in [
      (StoreError.timedOut, StoreError.timedOut),
      (StoreError.outcomeUnknown, StoreError.unavailable),
    ] {
      let failure = StoreError(code, store: "vault", reason: "the vault is closed")
      let keeper = StoreAnchor.Keeper(load: { throw failure }, save: { _ in throw failure })
      let refusal = try error {
        _ = try SealedFileStore.open(
          at: scratch.path, key: scratch.key, options: SealedFileStore.Options(anchor: keeper))
      }
      #expect(refusal.code == reported)
      #expect(refusal.store == (reported == code ? "vault" : scratch.path))
    }
    #expect(try store.text("a") == nil)
  }

  @Test func `a journal that is replaced before its anchor is loaded is reread`() throws {
    let store = try create()
    try store.put("1", as: "a")
    let (vault, meanwhile) = (vault, Locked<(@Sendable () throws -> Void)?>(nil))
    let keeper = StoreAnchor.Keeper(
      load: {
        let body = meanwhile.withLock { body in
          defer { body = nil }
          return body
        }
        try body?()
        return vault.saved.last
      }, save: { vault.put($0) })
    let handle = try SealedFileStore.open(
      at: scratch.path, key: scratch.key, options: SealedFileStore.Options(anchor: keeper))
    try store.compact()
    meanwhile.withLock { $0 = { try store.compact() } }
    #expect(try handle.text("a") == "1")
    #expect(meanwhile.withLock { $0 == nil })
  }

  @Test func `an error of a keeper before a change is thrown unchanged`() throws {
    let store = try create()
    let failure = StoreError(
      .timedOut, store: "vault", reason: "the vault is closed", errno: ETIMEDOUT)
    let (vault, fails) = (vault, Locked(false))
    let keeper = StoreAnchor.Keeper(
      load: {
        if fails.value { throw failure }
        return vault.saved.last
      }, save: { vault.put($0) })
    let handle = try SealedFileStore.open(
      at: scratch.path, key: scratch.key, options: SealedFileStore.Options(anchor: keeper))
    // The journal and its anchor are now reread.
    try store.compact()
    fails.withLock { $0 = true }
    let refusal = try error { try handle.put("1", as: "a") }
    #expect(refusal.code == .timedOut)
    #expect(refusal.reason == "the vault is closed")
  }

  @Test func `a crash at any step leaves a store that matches its anchor`() throws {
    _ = try create().put("1", as: "a")
    let before = try RecordedDisk.read(scratch.path)
    let anchors = vault.saved
    var number = 1
    while true {
      for (name, content) in before { try scratch.overwrite(name, with: content) }
      anchors.forEach(vault.put)
      // From one call on, every call fails, as if the process had died.
      let disk = FaultyFileSystem { [number] in $0.number >= number ? .fail(5) : nil }
      _ = try code {
        let store = try open(StoreEnvironment(fileSystem: disk))
        try store.put("2", as: "a")
        try store.compact()
        try store.put("3", as: "a")
        try store.rotate()
        try store.put("4", as: "a")
      }
      let value = try open().text("a") ?? "nothing"
      let isOneOfThem = ["1", "2", "3", "4"].contains(value)
      #expect(isOneOfThem, "call \(number): \(value)")
      #expect(try open().verify().isSound, "call \(number)")
      if disk.calls.count < number { break }
      number += 1
    }
    #expect(number > 100)
  }

  @Test func `a journal without its damage matches the anchor of an interrupted repair`() throws {
    let store = try create()
    for value in ["1", "2"] { try store.put(value, as: "a") }
    let place = JournalLayout.start(ofRecord: 1) + JournalLayout.chainValue
    try scratch.flip("journal", at: place)
    let disk = FaultyFileSystem { call in
      call.kind == .rename && call.name == "journal" ? .fail(EIO) : nil
    }
    let damaged = try open(StoreEnvironment(fileSystem: disk, repairLease: .zero))
    #expect(try code { _ = try damaged.repair() } == StoreError.io)
    // The user puts the journal back from a backup.
    try scratch.flip("journal", at: place)
    #expect(try open().text("a") == "2")
  }

  @Test(arguments: [JournalLayout.value, JournalLayout.chainValue])
  func `a repair that stops at any step keeps the store as readable as it was`(
    offset: Int
  ) throws {
    let store = try create()
    for value in ["1", "2"] { try store.put(value, as: "a") }
    try store.put("b", as: "b")
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 2) + offset)
    let damaged = try RecordedDisk.read(scratch.path)
    let anchors = vault.saved
    func readable() throws -> [String?] {
      let opened = try open()
      return ["a", "b"].map { name in
        do throws(StoreError) {
          return try opened.text(name)
        } catch {
          #expect(error.code == .corrupt)
          return nil
        }
      }
    }
    let before = try readable()
    var number = 1
    while true {
      try FileManager.default.removeItem(atPath: scratch.path)
      try RecordedDisk.write(damaged, to: scratch.path)
      anchors.forEach(vault.put)
      let disk = FaultyFileSystem { [number] in $0.number >= number ? .fail(EIO) : nil }
      _ = try code {
        _ = try open(StoreEnvironment(fileSystem: disk, repairLease: .zero)).repair()
      }
      if try !open().verify().isSound {
        #expect(try readable() == before, "call \(number)")
        #expect(try open(StoreEnvironment(repairLease: .zero)).repair().isEndConfirmed)
      }
      // A damaged value is replaced by the previous one; a damaged chain value loses nothing.
      let values = offset == JournalLayout.value ? ["1", "b"] : ["2", "b"]
      #expect(try readable() == values, "call \(number)")
      if disk.calls.count < number { break }
      number += 1
    }
    #expect(number > 50)
  }
}
