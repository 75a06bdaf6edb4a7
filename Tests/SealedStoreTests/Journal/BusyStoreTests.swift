import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of a store that another process makes or changes at this moment.
@Suite(.onOwnThread) struct BusyStoreTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test func `a store that is made between two looks for its files opens`() throws {
    try FileManager.default.createDirectory(
      atPath: scratch.path, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let isMade = Locked(false)
    let disk = FaultyFileSystem { [scratch] call in
      guard call.kind == .status, call.name == "journal" else { return nil }
      let isFirst = isMade.withLock { isMade in
        defer { isMade = true }
        return !isMade
      }
      #expect(throws: Never.self) { if isFirst { try scratch.create().put("value", as: "item") } }
      return nil
    }
    let store = try scratch.open(StoreEnvironment(fileSystem: disk))
    #expect(isMade.value)
    #expect(try store.text("item") == "value")
  }

  /// Reading the journal takes longer than a change by the other process.
  @Test(.timeLimit(.minutes(5)))
  func `a store that is changed all the time can be verified`() throws {
    let store = try scratch.create()
    try store.apply(
      try (0..<100_000).map { .put(secret("value"), for: try name("\($0)")) })
    let slow = try scratch.open(
      StoreEnvironment(
        fileSystem: FaultyFileSystem { call in
          if call.kind == .synchronizeData { usleep(5000) }
          return nil
        }))
    let isOver = Locked(false)
    try inThreads(2) { number in
      if number == 0 {
        while !isOver.value { try slow.put("other", as: "item") }
        return
      }
      defer { isOver.withLock { $0 = true } }
      #expect(try store.verify().findings.filter(\.isDamage) == [])
    }
  }

  /// The first process frees the lock for a few microseconds at a time.
  @Test func `twelve processes get their turns beside one that writes all the time`() throws {
    _ = try scratch.create()
    let slow = try scratch.open(
      StoreEnvironment(
        fileSystem: FaultyFileSystem { call in
          if call.kind == .synchronizeData { usleep(5000) }
          return nil
        }))
    let others = 12
    let left = Locked(others)
    try inThreads(1 + others) { [scratch] number in
      if number == 0 {
        while left.value > 0 { try slow.put("other", as: "item") }
        return
      }
      defer { left.withLock { $0 -= 1 } }
      let store = try SealedFileStore.open(at: scratch.path, key: scratch.key)
      for count in 1...5 { try store.put("\(count)", as: "\(number)") }
      #expect(try store.text("\(number)") == "5")
    }
  }

  @Test func `a process that has the turn and is stopped does not stop the others`() throws {
    let store = try scratch.create()
    let fileSystem = LinuxFileSystem()
    let lock = try fileSystem.open(scratch.file("lock"), in: .workingDirectory, .readWrite)
    #expect(try fileSystem.tryLock(lock, byte: 1 << 62 + 1))
    try store.put("value", as: "item")
    #expect(try store.text("item") == "value")
  }
}
