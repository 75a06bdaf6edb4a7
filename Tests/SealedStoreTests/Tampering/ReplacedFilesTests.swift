import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of open stores whose files are replaced with old copies or cut.
@Suite(.onOwnThread) struct ReplacedFilesTests {
  let scratch: Scratch
  private let names = ["k1", "k2", "k3", "k4"]

  init() throws {
    scratch = try Scratch()
  }

  @Test(arguments: [["journal", "mark"], ["journal"], ["mark"]])
  func `a backup that is copied over the files of an open store is never written to`(
    files: [String]
  ) throws {
    let store = try scratch.create()
    try store.put("old", as: "k1")
    let backup = try RecordedDisk.read(scratch.path, withReserve: true)
    try store.put("new", as: "k1")
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "new")
    let length = try RecordedDisk.read(scratch.path, withReserve: true)["journal"]?.count
    #expect(backup["journal"]?.count == length)
    for name in files { try scratch.overwrite(name, with: #require(backup[name])) }
    if files == ["mark"] {
      // The whole change is there, as after a power cut: it counts, and is marked again.
      #expect(try reader.text("k1") == "new")
      try store.put("w", as: "k2")
      #expect(try scratch.open().texts() == ["k1": "new", "k2": "w"])
      return
    }
    // The reader that has read the newest value may return it while the mark confirms it.
    if files == ["journal"] { #expect(try reader.text("k1") == "new") }
    for opened in [reader, store] {
      #expect(try code { try opened.put("w", as: "k2") } == StoreError.corrupt)
      #expect(try code { _ = try opened.text("k1") } == StoreError.corrupt)
      #expect(try code { _ = try opened.names(in: nil) } == StoreError.corrupt)
      #expect(try code { try opened.compact() } == StoreError.corrupt)
      #expect(try code { try opened.rotate() } == StoreError.corrupt)
    }
    let after = try RecordedDisk.read(scratch.path, withReserve: true)
    let isUntouched = after["journal"] == backup["journal"]
    #expect(isUntouched)
    guard files.contains("mark") else { return }
    // After reopening, the store is the backup.
    #expect(try scratch.open().texts() == ["k1": "old"])
    try scratch.open().put("w", as: "k2")
    #expect(try scratch.open().verify().findings == [])
    // This state differs from the one that these handles had open.
    #expect(try code { _ = try reader.text("k1") } == StoreError.corrupt)
  }

  enum Harm: CaseIterable, Sendable { case chain, cut, mark, olderAndLonger }

  @Test(arguments: Harm.allCases)
  func `an open store that found damage does not accept an older backup`(harm: Harm) throws {
    let store = try scratch.create()
    for value in ["1", "2", "3"] { try store.put(value, as: "k1") }
    let backup = try RecordedDisk.read(scratch.path, withReserve: true)
    for value in ["4", "5"] { try store.put(value, as: "k1") }
    let newest = try RecordedDisk.read(scratch.path, withReserve: true)
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "5")
    switch harm {
    case .chain:
      try scratch.flip("journal", at: JournalLayout.start(ofRecord: 5) + JournalLayout.chainValue)
    case .cut: try scratch.overwrite("journal", with: [0])
    case .mark: try scratch.flip("mark", at: 50)
    case .olderAndLonger:
      // Behind the mark is a change where no change can be.
      try scratch.overwrite("mark", with: #require(backup["mark"]))
      let journal = try scratch.bytes(of: "journal")[..<JournalLayout.start(ofRecord: 4)]
      let last = journal.suffix(JournalLayout.shortRecordByteCount)
      try scratch.overwrite("journal", with: journal + [0xA1] + last)
    }
    for opened in [reader, store] {
      // A writer checks the end of the journal, and reads all of it if the end differs.
      #expect(try code { try opened.put("w", as: "k2") } == StoreError.corrupt)
      let damage = try error { _ = try opened.names(in: nil) }
      #expect(damage.code == .corrupt)
      // A repair depends on where the chain ends, not on the age of the files.
      #expect(damage.reason.hasPrefix("there is a change") == (harm == .olderAndLonger))
    }
    for name in ["journal", "mark"] { try scratch.overwrite(name, with: #require(backup[name])) }
    for opened in [reader, store] {
      let refusal = try error { _ = try opened.text("k1") }
      #expect(refusal.code == .corrupt)
      #expect(refusal.reason.contains("older than"))
      #expect(try code { try opened.put("w", as: "k2") } == StoreError.corrupt)
    }
    let after = try RecordedDisk.read(scratch.path, withReserve: true)
    let isUntouched = after["journal"] == backup["journal"]
    #expect(isUntouched)
    for name in ["journal", "mark"] { try scratch.overwrite(name, with: #require(newest[name])) }
    for opened in [reader, store] { #expect(try opened.text("k1") == "5") }
  }

  @Test(arguments: [true, false])
  func `the remains of a change do not replace a change that older files lack`(
    isWriting: Bool
  ) throws {
    let store = try scratch.create()
    try store.put("old", as: "k1")
    let mark = try scratch.bytes(of: "mark")
    try store.put("new", as: "k1")
    var journal = try scratch.bytes(of: "journal")
    try store.compact()
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "new")
    // In the earlier journal the last change is torn: dropping it would leave a void change, and
    // the same number of changes as before.
    journal[JournalLayout.start(ofRecord: 3) - 1] ^= 1
    try scratch.overwrite("journal", with: journal)
    try scratch.overwrite("mark", with: mark)
    if isWriting {
      #expect(try code { try reader.put("w", as: "k2") } == StoreError.corrupt)
    }
    let refusal = try error { _ = try reader.text("k1") }
    #expect(refusal.code == .corrupt)
    #expect(refusal.reason.contains("older than"))
    #expect(try scratch.bytes(of: "journal") == journal)
  }

  @Test(arguments: [2, 3, 4, 9], [false, true])
  func `an open store does not continue with another branch of its own journal`(
    changeCount: Int, isRead: Bool
  ) throws {
    let store = try scratch.create()
    try store.put("1", as: "k1")
    let backup = try RecordedDisk.read(scratch.path, withReserve: true)
    for value in ["2", "3"] { try store.put(value, as: "k1") }
    try store.put("confirmed", as: "k2")
    let reader = try scratch.open()
    #expect(try reader.text("k2") == "confirmed")
    for name in ["journal", "mark"] { try scratch.overwrite(name, with: #require(backup[name])) }
    let opened = [reader, store]
    if isRead {
      for opened in opened { #expect(try code { _ = try opened.text("k2") } == StoreError.corrupt) }
    }
    // Another store continues from the backup: not as far, as far, and further than these stores
    // saw.
    let other = try scratch.open()
    for number in 1...changeCount { try other.put("\(number)", as: "k3") }
    let branch = try RecordedDisk.read(scratch.path, withReserve: true)
    for opened in opened {
      #expect(try code { try opened.put("w", as: "k4") } == StoreError.corrupt)
      #expect(try error { _ = try opened.text("k2") }.reason.contains("older than"))
      #expect(try code { _ = try opened.names(in: nil) } == StoreError.corrupt)
      #expect(try code { try opened.compact() } == StoreError.corrupt)
    }
    #expect(try RecordedDisk.read(scratch.path, withReserve: true) == branch)
    #expect(try scratch.open().texts() == ["k1": "1", "k3": "\(changeCount)"])
  }

  @Test(arguments: [JournalLayout.shortRecordByteCount, 8192, 20_000])
  func `an open store writes nothing in front of a record where no record can be`(
    distance: Int
  ) throws {
    let store = try scratch.create()
    try store.put("1", as: "k1")
    let writer = try scratch.open()
    try writer.put("2", as: "k1")
    let end = try scratch.bytes(of: "journal").count
    var journal = try #require(RecordedDisk.read(scratch.path, withReserve: true)["journal"])
    let record = journal[JournalLayout.start(ofRecord: 1)..<JournalLayout.start(ofRecord: 2)]
    journal.replaceSubrange(end + distance..<end + distance + record.count, with: record)
    try scratch.overwrite("journal", with: journal)
    for opened in [store, writer] {
      #expect(try code { try opened.put("3", as: "k1") } == StoreError.corrupt)
      #expect(try code { _ = try opened.text("k1") } == StoreError.corrupt)
    }
    #expect(try code { _ = try scratch.open().text("k1") } == StoreError.corrupt)
    let after = try RecordedDisk.read(scratch.path, withReserve: true)
    #expect(after["journal"] == journal)
  }

  @Test(arguments: [0, 40, 63, 65, 4096])
  func `an open store detects that its mark has another length`(byteCount: Int) throws {
    let store = try scratch.create()
    try store.put("1", as: "k1")
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "1")
    let mark = try scratch.bytes(of: "mark")
    let zeros = [UInt8](repeating: 0, count: 4096)
    try scratch.overwrite("mark", with: Array((mark + zeros).prefix(byteCount)))
    #expect(try code { try store.put("2", as: "k1") } == StoreError.corrupt)
    // A reader checks more than the mark's bytes only from time to time.
    var wait = Wait()
    while try code({ _ = try reader.text("k1") }) == nil, !wait.isOver() {}
    #expect(try code { _ = try reader.text("k1") } == StoreError.corrupt)
    try scratch.overwrite("mark", with: mark)
    for opened in [reader, store] { #expect(try opened.text("k1") == "1") }
  }

  /// Replaces a file by renaming, as a restoring program does.
  private func replace(_ name: String, with bytes: [UInt8]) throws {
    #expect(
      FileManager.default.createFile(
        atPath: scratch["new"], contents: Data(bytes), attributes: [.posixPermissions: 0o600]))
    #expect(unsafe rename(scratch["new"], scratch.file(name)) == 0)
  }

  @Test(arguments: [["journal", "mark"], ["mark", "journal"], ["journal"]])
  func `older files that are renamed into place give an open store no older value`(
    files: [String]
  ) throws {
    let store = try scratch.create()
    try store.put("old", as: "k1")
    let backup = try RecordedDisk.read(scratch.path, withReserve: true)
    try store.put("new", as: "k1")
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "new")
    for name in files { try replace(name, with: #require(backup[name])) }
    #expect(try code { try store.put("w", as: "k2") } == StoreError.corrupt)
    // The reader checks the names from time to time.
    var answer: String? = "new"
    var wait = Wait()
    while answer == "new", !wait.isOver() {
      do throws(StoreError) {
        answer = try reader.text("k1")
      } catch {
        #expect(error.code == .corrupt)
        break
      }
    }
    #expect(answer == "new")
    for opened in [reader, store] {
      for _ in 0..<3 {
        #expect(try code { _ = try opened.text("k1") } == StoreError.corrupt)
        #expect(try code { _ = try opened.names(in: nil) } == StoreError.corrupt)
        #expect(try code { try opened.put("w", as: "k2") } == StoreError.corrupt)
      }
    }
    let after = try RecordedDisk.read(scratch.path, withReserve: true)
    let isUntouched = after["journal"] == backup["journal"]
    #expect(isUntouched)
    if files.contains("mark") { #expect(try scratch.open().texts() == ["k1": "old"]) }
  }

  /// Waits until the next read checks the names again.
  private func waitUntilNamesAreDue() { Thread.sleep(forTimeInterval: 0.11) }

  @Test func `an open store continues with a copy of its mark that is renamed into place`() throws {
    try scratch.create().put("old", as: "k1")
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "old")
    try replace("mark", with: scratch.bytes(of: "mark"))
    try scratch.open().put("new", as: "k1")
    waitUntilNamesAreDue()
    #expect(try reader.text("k1") == "new")
  }

  @Test func `an undamaged journal that replaces a damaged one of equal length is read`() throws {
    try scratch.create().put("1", as: "k1")
    let journal = try #require(RecordedDisk.read(scratch.path, withReserve: true)["journal"])
    try scratch.flip("journal", at: JournalLayout.start(ofRecord: 1) + JournalLayout.chainValue)
    let reader = try scratch.open()
    #expect(try code { _ = try reader.text("k1") } == StoreError.corrupt)
    try replace("journal", with: journal)
    #expect(try reader.text("k1") == "1")
  }

  @Test func `an open store that has read everything fails once its journal is cut`() throws {
    let store = try scratch.create()
    for identifier in ["k1", "k2"] { try store.put("1", as: identifier) }
    let reader = try scratch.open()
    #expect(try reader.texts() == ["k1": "1", "k2": "1"])
    #expect(unsafe truncate(scratch.file("journal"), JournalLayout.start(ofRecord: 2)) == 0)
    waitUntilNamesAreDue()
    // The first item is still there, the second is not, and the others never existed.
    for identifier in names {
      #expect(try code { _ = try reader.text(identifier) } == StoreError.corrupt)
      #expect(try code { _ = try reader.contains(name(identifier)) } == StoreError.corrupt)
    }
    #expect(try code { _ = try reader.names(in: nil) } == StoreError.corrupt)
  }

  @Test(arguments: [false, true])
  func `an open store recovers nothing behind the mark of another branch`(isTorn: Bool) throws {
    let store = try scratch.create()
    try store.put("1", as: "k1")
    let backup = try RecordedDisk.read(scratch.path, withReserve: true)
    for value in ["2", "3", "4"] { try store.put(value, as: "k1") }
    let reader = try scratch.open()
    #expect(try reader.text("k1") == "4")
    for name in ["journal", "mark"] { try scratch.overwrite(name, with: #require(backup[name])) }
    let other = try scratch.open()
    for number in 1...3 { try other.put("\(number)", as: "k3") }
    let mark = try scratch.bytes(of: "mark")
    try other.put("4", as: "k3")
    // The branch is as long as the journal that the two stores saw, with one change behind its
    // mark.
    try scratch.overwrite("mark", with: mark)
    if isTorn {
      try scratch.flip("journal", at: JournalLayout.start(ofRecord: 5) + JournalLayout.value)
    }
    let branch = try RecordedDisk.read(scratch.path, withReserve: true)
    for opened in [reader, store] {
      #expect(try code { _ = try opened.text("k1") } == StoreError.corrupt)
      #expect(try code { try opened.put("w", as: "k4") } == StoreError.corrupt)
    }
    #expect(try RecordedDisk.read(scratch.path, withReserve: true) == branch)
  }

  @Test func `an unfinished change that was dropped is never finished later`() throws {
    let store = try scratch.create()
    try store.put("one", as: "k1")
    let before = try RecordedDisk.read(scratch.path)
    let start = try #require(before["journal"]).count
    try store.put("two", as: "k1")
    let whole = try scratch.bytes(of: "journal")
    let record = start..<start + JournalLayout.shortRecordByteCount
    // The part that was not written: a part of the prefix, or of a sealed part.
    for missing in [0..<16, 16..<32, 32..<72, 100..<150, 200..<232] {
      var torn = whole
      for offset in missing { torn[start + offset] = 0 }
      try scratch.overwrite("mark", with: #require(before["mark"]))
      try scratch.overwrite("journal", with: torn)
      #expect(try scratch.open().texts() == ["k1": "one"])
      let dropped = try RecordedDisk.read(scratch.path)
      #expect(dropped["journal"]?[record] != torn[record])

      // The bytes are restored, with one byte changed or unchanged: the change that replaced them
      // is then missing.
      for offset in [nil, 4, 16, 24, 60, 120, 231] {
        var forged = torn
        if let offset { forged[start + offset] ^= 6 }
        try scratch.overwrite("mark", with: #require(dropped["mark"]))
        try scratch.overwrite("journal", with: forged)
        #expect(try code { _ = try scratch.open().text("k1") } == StoreError.corrupt)
        // With the old mark too, the change is again unfinished.
        try scratch.overwrite("mark", with: #require(before["mark"]))
        #expect(try scratch.open().texts() == ["k1": "one"])
      }
      // Not even the whole change returns behind the new mark.
      try scratch.overwrite("mark", with: #require(dropped["mark"]))
      try scratch.overwrite("journal", with: whole)
      #expect(try code { _ = try scratch.open().text("k1") } == StoreError.corrupt)
    }
  }
}
