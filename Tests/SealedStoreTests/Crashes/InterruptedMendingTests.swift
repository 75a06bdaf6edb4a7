import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct InterruptedMendingTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test func `the remains of a crash are dropped at whatever step the dropping was interrupted`()
    throws
  {
    // A write that was cut short is found and dropped; this may be interrupted too.
    let store = try scratch.create()
    try store.put("1", as: "a")
    let mark = try scratch.bytes(of: "mark")
    try store.put(String(repeating: "x", count: 2000), as: "b")
    try scratch.overwrite("journal", with: Array(scratch.bytes(of: "journal").dropLast(700)))
    try scratch.overwrite("mark", with: mark)
    let left = try RecordedDisk.read(scratch.path)
    var number = 1
    while true {
      let path = scratch["attempt \(number)"]
      try RecordedDisk.write(left, to: path)
      let disk = FaultyFileSystem { [number] in $0.number >= number ? .fail(EIO) : nil }
      _ = try code {
        try SealedFileStore.open(
          at: path, key: scratch.key, environment: StoreEnvironment(fileSystem: disk)
        ).put("2", as: "a")
      }
      let opened = try SealedFileStore.open(at: path, key: scratch.key)
      let value = try opened.text("a")
      #expect(value == "1" || value == "2")
      #expect(try opened.text("b") == nil)
      try opened.put("3", as: "c")
      #expect(try opened.verify().findings == [])
      if disk.calls.count < number { break }
      number += 1
    }
  }
}
