import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of readers that cannot write.
///
/// Most run in processes for which the kernel mounts the store read-only.
@Suite(.onOwnThread) struct ReadOnlyTests {
  let scratch: Scratch
  let key: String
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
    store = try scratch.create()
    try store.put("1", as: "a")
    try store.put("2", as: "b")
  }

  /// The script that starts a process with a read-only view of the store's directory.
  private static let readOnly = """
    mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"
    """

  /// The same script with a copy of the store on a file system in memory.
  private static let readOnlyInMemory = """
    mkdir "$0-copied" && cp -a "$0/." "$0-copied" && mount -t tmpfs -o mode=700 tmpfs "$0" &&
    cp -a "$0-copied/." "$0" && mount -o remount,ro "$0" && exec "$@"
    """

  /// Starts a reader, which prints a line for each line that it receives.
  private func reader(_ script: String = readOnly) throws -> Worker {
    try Worker(
      "show", scratch.path, key, "1", under: ["unshare", "-rm", "sh", "-c", script, scratch.path])
  }

  /// Sends a line to a reader and returns its next line.
  private func answer(of reader: Worker) throws -> String? {
    try reader.send()
    return reader.line()
  }

  /// Reads all files in the directory, with the zeros behind the journal.
  private func files() throws -> RecordedDisk.Content {
    try RecordedDisk.read(scratch.path, withReserve: true)
  }

  /// Returns the end of a journal with `count` short records.
  private static func end(ofRecords count: Int) -> Int { 88 + count * 232 }

  /// Writes bytes over the zeros behind the journal.
  private func putBehind(_ offset: Int, _ bytes: [UInt8]) throws {
    let handle = try FileHandle(forWritingTo: URL(filePath: scratch.file("journal")))
    defer { try? handle.close() }
    try handle.seek(toOffset: UInt64(offset))
    try handle.write(contentsOf: Data(bytes))
  }

  @Test func `a reader that cannot write follows a writer`() throws {
    let reader = try reader()
    #expect(reader.line() == "a=1 b=2, sound, accessDenied")
    try store.put("3", as: "c")
    #expect(try answer(of: reader) == "a=1 b=2 c=3, sound, accessDenied")
    try store.apply([.remove(name("a")), .put(secret("4"), for: name("b"))])
    #expect(try answer(of: reader) == "b=4 c=3, sound, accessDenied")
    try store.compact()
    #expect(try answer(of: reader) == "b=4 c=3, sound, accessDenied")
    try store.put(String(repeating: "x", count: 100_000), as: "long")
    #expect(try answer(of: reader) == "b=4 c=3 long=100000, sound, accessDenied")
    try store.rotate()
    #expect(try answer(of: reader) == "b=4 c=3 long=100000, sound, accessDenied")
    try store.remove(name("long"))
    #expect(try answer(of: reader) == "b=4 c=3, sound, accessDenied")
    #expect(try scratch.names() == storeFiles)
  }

  @Test(arguments: [readOnly, readOnlyInMemory])
  func `whole changes behind the mark count for the reader, which writes nothing`(
    script: String
  ) throws {
    try scratch.makeUnmarked {
      try $0.put("3", as: "c")
      try $0.apply([.remove(name("a")), .put(secret("4"), for: name("b"))])
    }
    let before = try files()
    let reader = try reader(script)
    #expect(reader.line() == "b=4 c=3, sound, accessDenied")
    #expect(try answer(of: reader) == "b=4 c=3, sound, accessDenied")
    #expect(try files() == before)
    guard script == Self.readOnly else { return }

    // The changes that the reader counted stay when a writer recovers them.
    let writer = try scratch.open()
    #expect(try files() != before)
    #expect(try answer(of: reader) == "b=4 c=3, sound, accessDenied")
    try writer.put("5", as: "d")
    #expect(try answer(of: reader) == "b=4 c=3 d=5, sound, accessDenied")
  }

  @Test(arguments: [readOnly, readOnlyInMemory])
  func `an unfinished write behind the mark is ignored`(script: String) throws {
    try scratch.makeUnmarked { try $0.put("3", as: "c") }
    try putBehind(Self.end(ofRecords: 3), [UInt8](repeating: 0xA1, count: 700))
    let before = try files()
    let reader = try reader(script)
    #expect(reader.line() == "a=1 b=2 c=3, sound, accessDenied")
    #expect(try answer(of: reader) == "a=1 b=2 c=3, sound, accessDenied")
    #expect(try files() == before)
    guard script == Self.readOnly else { return }
    try scratch.open().put("4", as: "d")
    #expect(try answer(of: reader) == "a=1 b=2 c=3 d=4, sound, accessDenied")
  }

  @Test func `a torn change is ignored`() throws {
    try scratch.makeUnmarked {
      try $0.put("3", as: "c")
      try $0.put("4", as: "d")
    }
    // The bytes are in the value of the last change, which the chain does not cover.
    try putBehind(Self.end(ofRecords: 3) + 160, [0, 0, 0, 0])
    #expect(try reader().line() == "a=1 b=2 c=3, sound, accessDenied")
  }

  @Test func `a change that opens behind the mark where no change can be is damage`() throws {
    try scratch.makeUnmarked {
      try $0.put("3", as: "c")
      try $0.put("4", as: "d")
    }
    try putBehind(Self.end(ofRecords: 2) + 60, [0, 0, 0, 0])
    let before = try files()
    #expect(try reader().line() == "corrupt")
    #expect(try files() == before)
  }

  @Test func `a store without a lock file can be read`() throws {
    try scratch.makeUnmarked { try $0.put("3", as: "c") }
    try FileManager.default.removeItem(atPath: scratch.file("lock"))
    let reader = try reader()
    #expect(reader.line() == "a=1 b=2 c=3, sound, accessDenied")
    #expect(try scratch.names() == storeFiles.subtracting(["lock"]))
    try putBehind(Self.end(ofRecords: 3), [UInt8](repeating: 0xA1, count: 700))
    #expect(try self.reader().line() == "a=1 b=2 c=3, sound, accessDenied")
  }

  @Test func `a store without a lock file can be read on a full disk`() throws {
    try scratch.makeUnmarked { try $0.put("3", as: "c") }
    try FileManager.default.removeItem(atPath: scratch.file("lock"))
    let disk = FaultyFileSystem { call in
      call.kind == .write || call.access == .readWriteOrCreate ? .fail(ENOSPC) : nil
    }
    let reader = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try reader.texts() == ["a": "1", "b": "2", "c": "3"])
    #expect(try scratch.names() == storeFiles.subtracting(["lock"]))
  }

  @Test func `a reader that has the lock after a writer syncs no marked change`() throws {
    var mark: [UInt8] = []
    try scratch.makeUnmarked {
      try $0.put("3", as: "c")
      mark = try scratch.bytes(of: "mark")
    }
    let disk = FaultyFileSystem { [scratch, mark] call in
      switch call.kind {
      case .open where call.access == .readWriteOrCreate: return .fail(EACCES)
      case .lock:
        // The writer writes its mark and then releases the lock.
        #expect(throws: Never.self) { try scratch.overwrite("mark", with: mark) }
        return nil
      case .synchronizeData: return .fail(EIO)
      default: return nil
      }
    }
    let reader = try scratch.open(StoreEnvironment(fileSystem: disk))
    // One call looks for a turn, and one takes the lock.
    #expect(disk.count(.lock) == 2)
    #expect(try reader.texts() == ["a": "1", "b": "2", "c": "3"])
  }

  @Test func `a reader waits for a writer before it counts changes behind the mark`() throws {
    try scratch.makeUnmarked { try $0.put("3", as: "c") }
    let lock = LockFile(try PrivateDirectory(scratch.path, fileSystem: LinuxFileSystem()))
    let held = try lock.lock(byte: LockFile.writerByte, timeout: .seconds(1))
    let reader = try reader()
    #expect(reader.lines(for: .milliseconds(300)) == [])
    held.unlock()
    #expect(reader.line() == "a=1 b=2 c=3, sound, accessDenied")
  }

  /// A file of mode 0400 is read-only for all users except root.
  @Test(arguments: ["journal", "mark", "lock"], [EACCES, EROFS, EPERM])
  func `if one file is read-only, reads work and no change is begun`(
    file: String, errno: Int32
  ) throws {
    let before = try files()
    let disk = FaultyFileSystem { call in
      let isWriting = call.access == .readWrite || call.access == .readWriteOrCreate
      return call.name == file && isWriting ? .fail(errno) : nil
    }
    let opened = try scratch.open(StoreEnvironment(fileSystem: disk))
    let put = { try opened.put("3", as: "c") }
    var changes: [() throws -> Void] = [put, { try opened.remove(name("a")) }, put]
    // A new journal can replace a journal that cannot be written.
    if file != "journal" {
      changes += [{ try opened.compact() }, { try opened.rotate() }, put]
    }
    for change in changes {
      let refusal = #expect(throws: StoreError.self) { try change() }
      #expect(refusal?.code == .accessDenied)
      // What refused to open it for writing, not that it was opened for reading.
      #expect(refusal?.errno == errno)
      #expect(try opened.texts() == ["a": "1", "b": "2"])
      #expect(try opened.verify().findings == [])
      #expect(try files() == before)
    }
    try store.put("4", as: "d")
    #expect(try opened.texts() == ["a": "1", "b": "2", "d": "4"])
    #expect(try code(put) == StoreError.accessDenied)
    #expect(try scratch.open().texts() == ["a": "1", "b": "2", "d": "4"])

    // The same must hold for changes behind the mark.
    try scratch.makeUnmarked { try $0.put("5", as: "e") }
    try putBehind(Self.end(ofRecords: 4), [UInt8](repeating: 0xA1, count: 700))
    let unrecovered = try files()
    let reader = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try reader.texts() == ["a": "1", "b": "2", "d": "4", "e": "5"])
    #expect(try code { try reader.put("3", as: "c") } == StoreError.accessDenied)
    #expect(try files() == unrecovered)
    // Once writing is allowed again, the store does not need to be reopened.
    disk.setRule(nil)
    try reader.put("6", as: "e")
    #expect(try scratch.open().texts() == ["a": "1", "b": "2", "d": "4", "e": "6"])
  }

  @Test func `two readers hold the lock together`() throws {
    try scratch.makeUnmarked { try $0.put("3", as: "c") }
    let directory = try PrivateDirectory(scratch.path, fileSystem: LinuxFileSystem())
    let held = try LockFile(directory).lockShared(
      byte: LockFile.writerByte, timeout: .seconds(1), unless: { () throws(StoreError) in false })
    #expect(try reader().line() == "a=1 b=2 c=3, sound, accessDenied")
    held?.unlock()
  }
}
