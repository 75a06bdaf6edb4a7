import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of opening files that other processes replace.
@Suite(.onOwnThread) struct ReplacedFileTests {
  private static let replacementCount = TestSize.choose(
    small: 2000, medium: 20_000, large: 1_000_000)

  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    _ = try scratch.create()
  }

  @Test(.timeLimit(.minutes(1)))
  func `files of a file system that counts no links are refused immediately`() throws {
    let disk = FaultyFileSystem()
    disk.setAppearance { status in
      var status = status
      if status.kind == .regular { status.linkCount = 0 }
      return status
    }
    let error = try error { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) }
    #expect(error.code == .unsafePermissions)
    #expect(error.reason.contains("counts no hard links"))
    #expect(disk.openNames.isEmpty)
  }

  @Test(.timeLimit(.minutes(1)))
  func `opening a file that is replaced at every attempt fails`() throws {
    let disk = FaultyFileSystem()
    let count = Locked<UInt64>(0)
    disk.setAppearance { status in
      var status = status
      if status.kind == .regular { status.linkCount = 0 }
      status.inode = count.withLock { count in
        count += 1
        return count
      }
      return status
    }
    let error = try error { _ = try scratch.open(StoreEnvironment(fileSystem: disk)) }
    #expect(error.code == .io)
    #expect(error.reason == "it is replaced faster than it can be opened")
    #expect(disk.openNames.isEmpty)
  }

  /// In the middle of a rename, the name leads to the replaced file, which has no link any more.
  ///
  /// A thread that renames is often interrupted there if others want its processor.
  @Test func `a file that is being replaced can be opened`() throws {
    let directory = try PrivateDirectory(scratch.path, fileSystem: LinuxFileSystem())
    let (file, other) = (scratch.file("file"), scratch.file("other"))
    let isOver = Locked(false)
    try inThreads(9) { number in
      if number > 0 {
        while !isOver.value { _ = try directory.open("file", .read) }
        return
      }
      defer { isOver.withLock { $0 = true } }
      for _ in 0..<Self.replacementCount {
        _ = try directory.create("other")
        #expect(unsafe rename(other, file) == 0)
      }
    }
  }

  @Test func `a name that still leads to the replaced file is looked up again`() throws {
    let disk = FaultyFileSystem()
    let directory = try PrivateDirectory(scratch.path, fileSystem: disk)
    let count = Locked(0)
    disk.setAppearance { status in
      let number = count.withLock { count in
        count += 1
        return count
      }
      var status = status
      // The open file, its name in the middle of the rename, and its name after it.
      if number <= 2 { status.linkCount = 0 }
      if number == 3 { status.inode += 1 }
      return status
    }
    #expect(try directory.open("journal", .read) != nil)
    #expect(count.value == 4)
  }
}
