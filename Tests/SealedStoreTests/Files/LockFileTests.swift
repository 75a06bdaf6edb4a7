import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests in which the lock file is removed.
@Suite struct LockFileTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test func `handles that locked a removed file and a new file still exclude each other`()
    throws
  {
    let (old, new) = (try scratch.create(), try scratch.open())
    try old.put("1", as: "item")
    try FileManager.default.removeItem(atPath: scratch.file("lock"))
    try new.put("2", as: "item")
    #expect(try scratch.names() == storeFiles)
    try new.withExclusiveAccess(to: name("item"), timeout: .seconds(30)) {
      let code = try code {
        try old.withExclusiveAccess(to: name("item"), timeout: .milliseconds(20)) {}
      }
      #expect(code == StoreError.timedOut)
    }
    try old.withExclusiveAccess(to: name("item"), timeout: .seconds(30)) {}
    try old.put("3", as: "item")
    #expect(try new.text("item") == "3")
  }

  @Test func `a lock file that is removed just before it is locked is created again`() throws {
    let disk = FaultyFileSystem()
    let store = try scratch.create(StoreEnvironment(fileSystem: disk))
    try store.put("1", as: "item")
    let path = scratch.file("lock")
    disk.setRule { call in
      // The first lock is on a file that is removed before another process can see the lock.
      if call.kind == .lock, call.number == 1 { try? FileManager.default.removeItem(atPath: path) }
      return nil
    }
    try store.put("2", as: "item")
    #expect(FileManager.default.fileExists(atPath: path))
    #expect(try scratch.open().text("item") == "2")
  }
}
