import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestThreads
import Testing

/// Somebody who can write to the disk and has no key changes one bit, or cuts a file off.
@Suite(.onOwnThread) struct FlippedBitTests {
  let store: TamperedStore

  init() throws {
    store = try TamperedStore()
  }

  private static let allBits = (0..<8).map { UInt8(1) << $0 }

  /// A bit that differs from byte to byte.
  private static func oneBit(at offset: Int) -> [UInt8] { [1 << (offset % 8)] }

  /// Flips bits of a file one by one, with a handle that was open before beside it.
  private func flipEvery(
    of name: String, bits: (Int) -> [UInt8]
  ) throws -> [String] {
    let open = try store.scratch.open()
    _ = try open.contents()
    var wrong: [String] = []
    for offset in try #require(store.files[name]).indices {
      for bit in bits(offset) {
        try store.scratch.flip(name, at: offset, bit: bit)
        if let answer = store.wrongAnswer() {
          wrong.append("bit \(bit) of byte \(offset): \(answer)")
        }
        if let answer = store.wrongAnswer(of: open) {
          wrong.append("bit \(bit) of byte \(offset), open: \(answer)")
        }
        try store.scratch.flip(name, at: offset, bit: bit)
      }
    }
    // With every bit back in its place nothing is amiss, for the open handle as well.
    #expect(try open.verify().findings == [])
    #expect(try open.text("a") == "second of a")
    return wrong
  }

  private func cutEvery(_ name: String, isNoticed: Bool = true) throws -> [String] {
    let content = try #require(store.files[name])
    let open = try store.scratch.open()
    var wrong: [String] = []
    for length in content.indices.reversed() {
      try store.scratch.overwrite(name, with: Array(content[..<length]))
      if let answer = store.wrongAnswer(isNoticed: isNoticed) {
        wrong.append("\(length) bytes: \(answer)")
      }
      if let answer = store.wrongAnswer(of: open) {
        wrong.append("\(length) bytes, open: \(answer)")
      }
    }
    try store.restore(name)
    #expect(try store.scratch.open().verify().findings == [])
    return wrong
  }

  @Test(arguments: ["header", "header.copy", "mark"])
  func `no bit of a header or mark is flipped unnoticed or changes an answer`(file: String) throws {
    #expect(try flipEvery(of: file) { _ in Self.allBits } == [])
  }

  @Test func `no byte of the journal is changed unnoticed or changes an answer`() throws {
    #expect(try flipEvery(of: "journal", bits: Self.oneBit) == [])
  }

  @Test(arguments: ["header", "header.copy", "mark", "journal"])
  func `no file is cut off unnoticed, wherever, or changes an answer`(file: String) throws {
    #expect(try cutEvery(file) == [])
  }

  @Test(arguments: ["header", "header.copy", "mark", "journal"])
  func `bytes behind the end of a file are noticed and change no answer`(file: String) throws {
    let content = try #require(store.files[file])
    for tail in [[0], [UInt8](repeating: 0, count: 300), Array(content.prefix(64)), content] {
      try store.scratch.overwrite(file, with: content + tail)
      // Zeros behind a journal are its reserve.
      let isNoticed = file != "journal" || tail.contains { $0 != 0 }
      #expect(store.wrongAnswer(isNoticed: isNoticed) == nil, "\(tail.count) bytes more")
    }
  }

  @Test func `no byte of the reserve is changed unnoticed or changes an answer`() throws {
    let journal = try #require(store.files["journal"])
    let reserve = [UInt8](repeating: 0, count: 700)
    for offset in 0..<reserve.count {
      var changed = reserve
      changed[offset] = 1 << UInt8(offset % 8)
      try store.scratch.overwrite("journal", with: journal + changed)
      #expect(store.wrongAnswer() == nil, "byte \(offset)")
    }
    // The next change cuts off what is not zero, and all behind it.
    try store.scratch.open().put("after", as: "new")
    #expect(try store.scratch.open().verify().findings.allSatisfy { $0.place == .files })
    #expect(try store.scratch.open().text("new") == "after")
  }

  @Test func `records that are put in each other's place are noticed`() throws {
    let journal = try #require(store.files["journal"])
    // Five records of 216 bytes stand at the front, then a longer one.
    let starts = (0..<5).map { 64 + 216 * $0 }
    for first in starts {
      for second in starts where second > first {
        var changed = journal
        changed.replaceSubrange(first..<first + 216, with: journal[second..<second + 216])
        changed.replaceSubrange(second..<second + 216, with: journal[first..<first + 216])
        try store.scratch.overwrite("journal", with: changed)
        #expect(store.wrongAnswer() == nil, "\(first) and \(second)")

        var repeated = journal
        repeated.replaceSubrange(second..<second + 216, with: journal[first..<first + 216])
        try store.scratch.overwrite("journal", with: repeated)
        #expect(store.wrongAnswer() == nil, "\(first) in place of \(second)")

        var dropped = journal
        dropped.removeSubrange(first..<first + 216)
        try store.scratch.overwrite("journal", with: dropped)
        #expect(store.wrongAnswer() == nil, "\(first) dropped")
      }
    }
  }

  @Test func `files of another store of the same key are noticed`() throws {
    let other = try SealedFileStore.create(at: store.scratch["other"], key: store.scratch.key)
    try other.put("of another store", as: "a")
    let foreign = try RecordedDisk.read(store.scratch["other"])
    for names in [
      ["journal"], ["mark"], ["header"], ["header.copy"], ["journal", "mark"],
      ["header", "header.copy"],
    ] {
      for name in names { try store.scratch.overwrite(name, with: foreign[name] ?? []) }
      #expect(store.wrongAnswer() == nil, "\(names)")
      for name in names { try store.restore(name) }
    }
  }

  @Test func `an older journal put back is noticed by its mark`() throws {
    let scratch = store.scratch
    let old = try scratch.bytes(of: "journal")
    try scratch.open().put("third of a", as: "a")
    try scratch.overwrite("journal", with: old)
    let opened = try scratch.open()
    #expect(try code { _ = try opened.text("a") } == StoreError.corrupt)
    #expect(try code { _ = try opened.text("e") } == StoreError.corrupt)
    #expect(try code { try opened.put("x", as: "a") } == StoreError.corrupt)
    #expect(try !opened.verify().isSound)
    #expect(try scratch.bytes(of: "journal") == old)
  }

  @Test func `a damaged journal takes no change and is never cut`() throws {
    let scratch = store.scratch
    let journal = try #require(store.files["journal"])
    for offset in [64, 100, 150, 64 + 216, 64 + 216 * 3 + 40, journal.count - 1] {
      try scratch.flip("journal", at: offset)
      let damaged = try scratch.bytes(of: "journal")
      let opened = try scratch.open()
      // What stands in the midst of a value is found when it is read, and kept from nothing.
      if try opened.verify().findings.contains(where: { $0.description.contains("at byte") }),
        (try? opened.keys(in: nil)) == nil
      {
        _ = try code { try opened.put("x", as: "x") }
        let after = try scratch.bytes(of: "journal")
        #expect(after.starts(with: damaged), "\(offset)")
      }
      try store.restore("journal")
      try store.restore("mark")
    }
  }
}
