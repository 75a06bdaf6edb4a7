import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of files on which another process has a lease, as a server of NFS or Samba does.
@Suite(.onOwnThread) struct LeasedFileTests {
  /// `F_SETLEASE`, which is not in Swift's Glibc.
  private static let setLease: Int32 = 1024

  @Test(arguments: ["mark", "journal", "lock"])
  func `is opened once the lease is given up`(name: String) throws {
    let scratch = try Scratch()
    try scratch.create().put("value", as: "item")
    // By default, the signal that asks for the lease would end this process.
    signal(SIGIO, SIG_IGN)
    let file = try #require(FileHandle(forReadingAtPath: scratch.file(name)))
    // A program that another test starts right now may still have the store's descriptors.
    try blockingWait(until: "the lease is granted") {
      if fcntl(file.fileDescriptor, Self.setLease, F_RDLCK) == 0 { return true }
      try #require(errno == EAGAIN)
      return false
    }
    try inThreads(2) { number in
      if number == 0 {
        usleep(50_000)
        #expect(fcntl(file.fileDescriptor, Self.setLease, F_UNLCK) == 0)
      } else {
        try scratch.open().put("other", as: "item")
      }
    }
    #expect(try scratch.open().text("item") == "other")
  }
}
