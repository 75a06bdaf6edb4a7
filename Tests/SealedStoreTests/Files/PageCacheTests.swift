import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of changes behind the mark that a reader who cannot write finds, and which may be in the
/// page cache alone: it reads what is on the disk.
@Suite(.onOwnThread) struct PageCacheTests {
  let scratch: Scratch
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    store = try scratch.create()
    try store.put("1", as: "a")
    try store.put("2", as: "b")
  }

  @Test func `if the page cache cannot be bypassed, a change behind the mark is an error`()
    throws
  {
    try scratch.makeUnmarked { try $0.put("3", as: "c") }
    // The disk is full, and the file system does not support direct reads: the last time that the
    // journal is opened is for them.
    let openings = Locked(0)
    let disk = FaultyFileSystem { call in
      switch call.kind {
      case .write: return .fail(ENOSPC)
      case .open where call.name == "journal":
        let number = openings.withLock { openings in
          openings += 1
          return openings
        }
        return number == 3 ? .fail(EINVAL) : nil
      default: return nil
      }
    }
    let code = try code { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) }
    #expect(openings.value == 3)
    #expect(code == StoreError.io)
    // Nothing is behind the mark of this change.
    try store.put("4", as: "d")
  }

  @Test func `in memory, a change behind the mark counts even without direct reads`()
    throws
  {
    let scratch = try Scratch(in: TemporaryDirectory(in: "/dev/shm"))
    let store = try scratch.create()
    try store.put("1", as: "a")
    let mark = try scratch.bytes(of: "mark")
    try store.put("2", as: "b")
    try scratch.overwrite("mark", with: mark)
    // This file system supports direct reads only since Linux 6.6.
    let disk = FaultyFileSystem { call in
      if call.kind == .write { return .fail(ENOSPC) }
      return call.access == .readDirect ? .fail(EINVAL) : nil
    }
    let reader = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try reader.texts() == ["a": "1", "b": "2"])
  }

  /// Exchanges the journal with another file.
  private static func exchangeJournal(of scratch: Scratch, with other: String) {
    let (journal, between) = (scratch.file("journal"), scratch["between"])
    for (path, newPath) in [(journal, between), (other, journal), (between, other)] {
      #expect(unsafe rename(path, newPath) == 0)
    }
  }

  /// Where the journal ends before the change.
  private static let end = JournalLayout.start(ofRecord: 3)

  /// All pages but the first are not on the disk, or only the first byte of the change is not.
  @Test(arguments: [4096..<Int.max, end..<end + 1])
  func `a change of which only a part is on the disk is ignored`(missing: Range<Int>) throws {
    try scratch.makeUnmarked { try $0.put(String(repeating: "x", count: 5000), as: "long") }
    let before = try RecordedDisk.read(scratch.path, withReserve: true)
    let journal = try #require(before["journal"])
    var written = journal
    for offset in missing.clamped(to: journal.indices) { written[offset] = 0 }
    let other = scratch["on disk"]
    #expect(
      FileManager.default.createFile(
        atPath: other, contents: Data(written), attributes: [.posixPermissions: 0o600]))
    // Nothing can be written, and a direct read gets the other file.
    let (scratch, isExchanged) = (scratch, Locked(false))
    let disk = FaultyFileSystem { call in
      if call.kind == .write { return .fail(ENOSPC) }
      isExchanged.withLock { isExchanged in
        guard call.access == .readDirect || isExchanged && call.kind == .read else { return }
        Self.exchangeJournal(of: scratch, with: other)
        isExchanged.toggle()
      }
      return nil
    }
    let reader = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(disk.calls.count { $0.access == .readDirect } == 1)
    #expect(!isExchanged.value)
    #expect(try reader.texts() == ["a": "1", "b": "2"])
    #expect(try RecordedDisk.read(scratch.path, withReserve: true) == before)
  }

  @Test func `a change of megabytes behind the mark counts on a full disk`() throws {
    let text = String(repeating: "x", count: 3 << 20)
    try scratch.makeUnmarked { try $0.put(text, as: "long") }
    let disk = FaultyFileSystem { $0.kind == .write ? .fail(ENOSPC) : nil }
    let reader = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(try reader.text("long") == text)
  }

  /// The script that uses the store on a full disk.
  ///
  /// The journal ends at the end of a page, so that a change written behind it is lost completely.
  private static let fullDisk = """
    set -e
    place=$1 store=$2 key=$3 worker=$4
    show() { "$worker" show "$place/mounted/store" "$key" "$1" </dev/null; }
    mount -t tmpfs -o size=12m,mode=700 tmpfs "$place"
    truncate -s 64M "$place/image"
    mkfs.ext4 -q -b 4096 -O ^has_journal "$place/image"
    mkdir "$place/mounted"
    mount -o loop "$place/image" "$place/mounted"
    cp -a "$store" "$place/mounted/store"
    sync -f "$place/mounted/store"
    cat /dev/zero >"$place/ballast" 2>/dev/null || true
    echo "writes: $(show 100000)"
    echo "opens again: $(show 1)"
    mount --bind "$place/mounted/store" "$place/mounted/store"
    mount -o remount,bind,ro "$place/mounted/store"
    echo "reads: $(show 1)"
    echo "reads again: $(show 1)"
    umount "$place/mounted/store"
    rm "$place/ballast"
    echo "has space: $(show 1)"
    """

  /// Whether a test may mount a file as a disk on this machine; where mkfs.ext4 is missing, it
  /// fails.
  static let canMountDisks =
    geteuid() == 0 && FileManager.default.fileExists(atPath: "/dev/loop-control")

  @Test(.enabled(if: canMountDisks, "needs root and a loop device"))
  func `a change that is only in the page cache after a failed sync does not count`() throws {
    // The journal has 88 bytes of head, 16 records of 232 bytes and one of 296.
    let store = try SealedFileStore.create(
      at: scratch["paged"], key: scratch.key)
    for number in 0..<16 { try store.put("v", as: "\(number)") }
    try store.put(String(repeating: "x", count: 124), as: "long")
    try store.compact()
    let journal = try #require(RecordedDisk.read(store.path, withReserve: true)["journal"])
    #expect(journal.count == 4096)
    let items = ((0..<16).map(String.init).sorted().map { "\($0)=v" } + ["long=124"])
      .joined(separator: " ")

    let place = scratch["disk"]
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    let (status, output, errors) = try run(
      "unshare", "-m", "sh", "-c", Self.fullDisk, "sh", place, store.path, scratch.writeKeyFile(),
      Worker.executable.path)
    #expect(errors == "")
    #expect(status == 0)
    let lines = output.split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "writes: \(items), sound, outcomeUnknown",
        // Recovery fails; the error depends on the kernel.
        lines.contains("opens again: io") ? "opens again: io" : "opens again: noSpace",
        "reads: \(items), sound, accessDenied",
        "reads again: \(items), sound, accessDenied",
        // The kernel kept the change in memory until now.
        "has space: \(items) new=100000, sound, ok",
      ])
  }
}
