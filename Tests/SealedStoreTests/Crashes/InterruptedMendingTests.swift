import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestThreads
import Testing

@Suite(.onOwnThread) struct InterruptedMendingTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test func `what a crash left is mended whatever step of the mending is the last`() throws {
    // A write that was cut short is found and cut off; that may be cut short as well.
    let store = try scratch.create()
    try store.put("1", as: "a")
    let journal = try scratch.bytes(of: "journal")
    try store.put(String(repeating: "x", count: 2000), as: "b")
    let whole = try scratch.bytes(of: "journal")
    try scratch.overwrite("journal", with: Array(whole.dropLast(700)))
    try scratch.overwrite("mark", with: [])
    let left = try RecordedDisk.read(scratch.path)
    var number = 1
    while true {
      let path = scratch["mending \(number)"]
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
      #expect(try opened.verify().findings.allSatisfy { $0.place == .files })
      let kept = try FileManager.default.contentsOfDirectory(atPath: path).filter {
        $0.hasPrefix("tail-")
      }
      let tail = Array(whole.dropLast(700)[journal.count...])
      let bytes = try kept.map { Array(try Data(contentsOf: URL(filePath: "\(path)/\($0)"))) }
      #expect(bytes.count { $0 == tail } == 1)
      // The change that the mending was for may be another one, when its flags were not written.
      let others = bytes.filter { $0 != tail }
      #expect(others.count <= 1 && others.allSatisfy { $0[4] == 0 })
      if disk.calls.count < number { break }
      number += 1
    }
  }
}
