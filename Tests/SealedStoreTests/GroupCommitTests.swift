import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct GroupCommitTests {
  let scratch: Scratch
  let disk: FaultyFileSystem
  let store: SealedFileStore

  init() throws {
    scratch = try Scratch()
    disk = FaultyFileSystem()
    store = try scratch.create(StoreEnvironment(fileSystem: disk))
  }

  @Test func `changes of eight threads share syncs, and all of them are there`() throws {
    disk.setRule(nil)
    try inThreads(8) { thread in
      for number in 0..<200 { try store.put("\(thread) \(number)", as: "\(thread)/\(number)") }
    }
    #expect(disk.count(.synchronizeData) < 1600)
    let reopened = try scratch.open()
    #expect(try reopened.names(in: nil).count == 1600)
    for thread in 0..<8 {
      for number in 0..<200 {
        #expect(try reopened.text("\(thread)/\(number)") == "\(thread) \(number)")
      }
    }
    #expect(try reopened.verify().findings == [])
  }

  @Test func `changes of one thread are each synced before they return`() throws {
    disk.setRule(nil)
    for number in 0..<20 {
      try store.put("\(number)", as: "item")
      #expect(disk.count(.synchronizeData) == number + 1)
    }
  }

  @Test(.timeLimit(.minutes(10)))
  func `changes that wait together share one sync`() throws {
    try inOneBatch(8, in: store, on: disk) { thread in
      try store.put("\(thread)", as: "\(thread)")
    }
    #expect(disk.count(.synchronizeData) == 2)
    #expect(try scratch.open().names(in: nil).count == 9)
  }

  @Test(.timeLimit(.minutes(10)))
  func `of changes that wait together only the one that does not fit fails`() throws {
    let large = SecretBytes([UInt8](repeating: 1, count: 3_000_000))
    let outcomes = Locked<[Int: StoreError.Code?]>([:])
    let rule: FaultyFileSystem.Rule = { call in
      // There is room for two megabytes: a larger write fails because the disk is full.
      call.kind == .write && call.byteCount > 2_000_000 ? .fail(ENOSPC) : nil
    }
    try inOneBatch(8, in: store, on: disk, rule) { thread in
      let outcome = try code {
        if thread == 3 {
          try store.put(large, for: name("large"))
        } else {
          try store.put("small", as: "\(thread)")
        }
      }
      outcomes.withLock { $0[thread] = .some(outcome) }
    }
    for thread in 1...8 {
      #expect(outcomes.value[thread] == .some(thread == 3 ? StoreError.noSpace : nil))
    }
    let reopened = try scratch.open()
    #expect(try reopened.names(in: nil).count == 8)
    #expect(try reopened.text("large") == nil)
    #expect(try reopened.verify().findings == [])
  }

  @Test(.timeLimit(.minutes(10)))
  func `changes that wait together fail together if the disk fails, and none is tried again`()
    throws
  {
    let value = SecretBytes([UInt8](repeating: 1, count: 100_000))
    let errors = Locked<[StoreError.Code?]>([])
    let rule: FaultyFileSystem.Rule = { call in
      // All changes together are longer, and one alone is not.
      call.kind == .write && call.byteCount > 400_000 ? .fail(EIO) : nil
    }
    try inOneBatch(8, in: store, on: disk, rule) { thread in
      let error = try code { try store.put(value, for: name("\(thread)")) }
      errors.withLock { $0.append(error) }
    }
    #expect(errors.value == Array(repeating: StoreError.io, count: 8))
    #expect(try scratch.open().names(in: nil).count == 1)
  }

  @Test func `changes of the same item by many threads leave one of their values`() throws {
    try inThreads(8) { thread in
      for number in 0..<50 {
        try store.apply([
          .put(secret("\(thread) \(number)"), for: name("x")),
          .put(secret("\(thread) \(number)"), for: name("y")),
        ])
      }
    }
    let reopened = try scratch.open()
    let value = try reopened.text("x")
    #expect(try reopened.text("y") == value)
    #expect(value?.hasSuffix(" 49") == true)
  }
}
