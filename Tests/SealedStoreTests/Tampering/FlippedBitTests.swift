import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of an attacker without a key who changes one bit on the disk, or truncates a file.
@Suite(.onOwnThread) struct FlippedBitTests {
  let store: TamperedStore

  init() throws {
    store = try TamperedStore()
  }

  private static let allBits = (0..<8).map { UInt8(1) << $0 }

  /// Returns a bit that differs from byte to byte.
  private static func oneBit(at offset: Int) -> [UInt8] { [1 << (offset % 8)] }

  /// Flips bits of a file one by one, and checks a new handle and one that was open before.
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
    // After every bit is restored there is no problem, for the open handle either.
    #expect(try open.verify().findings == [])
    #expect(try open.text("a") == "second of a")
    return wrong
  }

  private func cutEvery(_ name: String, isDetected: Bool = true) throws -> [String] {
    let content = try #require(store.files[name])
    let open = try store.scratch.open()
    var wrong: [String] = []
    for length in content.indices.reversed() {
      try store.scratch.overwrite(name, with: Array(content[..<length]))
      if let answer = store.wrongAnswer(isDetected: isDetected) {
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
  func `every flipped bit of a header or mark is detected and changes no answer`(
    file: String
  ) throws {
    #expect(try flipEvery(of: file) { _ in Self.allBits } == [])
  }

  @Test func `every changed byte of the journal is detected and changes no answer`() throws {
    #expect(try flipEvery(of: "journal", bits: Self.oneBit) == [])
  }

  @Test(arguments: ["header", "header.copy", "mark", "journal"])
  func `every truncation of a file is detected and changes no answer`(file: String) throws {
    #expect(try cutEvery(file) == [])
  }

  @Test(arguments: ["header", "header.copy", "mark"])
  func `bytes behind the end of a header or mark are detected and change no answer`(
    file: String
  ) throws {
    let content = try #require(store.files[file])
    for tail in [[0], [UInt8](repeating: 0, count: 300), Array(content.prefix(64)), content] {
      try store.scratch.overwrite(file, with: content + tail)
      #expect(store.wrongAnswer() == nil, "\(tail.count) bytes more")
    }
  }

  @Test func `bytes behind the end of a journal change no answer`() throws {
    let journal = try #require(store.files["journal"])
    let tails: [(bytes: [UInt8], dropped: Int)] = [
      // Zeros are the reserve of the journal.
      ([0], 0), ([UInt8](repeating: 0, count: 300), 0),
      (Array(journal.prefix(9)), 9), ([0, 0, 1], 3),
    ]
    for (bytes, dropped) in tails {
      try store.restoreAll()
      try store.scratch.overwrite("journal", with: journal + bytes)
      let notices = Notices()
      _ = try store.scratch.open(onNotice: notices)
      #expect(
        notices.all == (dropped == 0 ? [] : [.unfinishedWriteDropped(byteCount: dropped)]))
      #expect(store.wrongAnswer(isDetected: false) == nil)
      #expect(try store.scratch.open().verify().findings == [])
    }
    // The same records are repeated where no record can be.
    try store.restoreAll()
    try store.scratch.overwrite("journal", with: journal + journal)
    #expect(store.wrongAnswer() == nil)
    #expect(try store.scratch.bytes(of: "journal") == journal + journal)
  }

  @Test func `every changed byte of the reserve is detected and changes no answer`() throws {
    let journal = try #require(store.files["journal"])
    let reserve = [UInt8](repeating: 0, count: 700)
    for offset in 0..<reserve.count {
      var changed = reserve
      changed[offset] = 1 << UInt8(offset % 8)
      try store.restore("mark")
      try store.scratch.overwrite("journal", with: journal + changed)
      let notices = Notices()
      let opened = try store.scratch.open(onNotice: notices)
      #expect(notices.all == [.unfinishedWriteDropped(byteCount: offset + 1)])
      #expect(store.wrongAnswer(of: opened) == nil, "byte \(offset)")
      #expect(try opened.verify().findings == [])
    }
    try store.scratch.open().put("after", as: "new")
    #expect(try store.scratch.open().verify().findings == [])
    #expect(try store.scratch.open().text("new") == "after")
  }

  @Test func `exchanged, repeated and removed records are detected`() throws {
    let journal = try #require(store.files["journal"])
    // The journal begins with five short records, then a longer one.
    let byteCount = JournalLayout.shortRecordByteCount
    let starts = (1...5).map { JournalLayout.start(ofRecord: $0) }
    for first in starts {
      for second in starts where second > first {
        var changed = journal
        changed.replaceSubrange(
          first..<first + byteCount, with: journal[second..<second + byteCount])
        changed.replaceSubrange(
          second..<second + byteCount, with: journal[first..<first + byteCount])
        try store.scratch.overwrite("journal", with: changed)
        #expect(store.wrongAnswer() == nil, "\(first) and \(second)")

        var repeated = journal
        repeated.replaceSubrange(
          second..<second + byteCount, with: journal[first..<first + byteCount])
        try store.scratch.overwrite("journal", with: repeated)
        #expect(store.wrongAnswer() == nil, "\(first) in place of \(second)")

        var dropped = journal
        dropped.removeSubrange(first..<first + byteCount)
        try store.scratch.overwrite("journal", with: dropped)
        #expect(store.wrongAnswer() == nil, "\(first) dropped")
      }
    }
  }

  @Test func `files of another store with the same key are detected`() throws {
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

  @Test func `a restored older journal is detected because of the mark`() throws {
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

  @Test func `a damaged journal accepts no change and is never truncated`() throws {
    let journal = try #require(store.files["journal"])
    // All parts that the chain covers, in the first, the fourth and the last record.
    let last = journal.count - JournalLayout.shortRecordByteCount
    let parts = [
      0, JournalLayout.valueLength, JournalLayout.number, JournalLayout.kind, JournalLayout.nonce,
      JournalLayout.chainValue, JournalLayout.value - 1, JournalLayout.shortRecordByteCount - 1,
    ]
    for start in [JournalLayout.start(ofRecord: 1), JournalLayout.start(ofRecord: 4), last] {
      for part in parts {
        try store.scratch.flip("journal", at: start + part)
        let damaged = try RecordedDisk.read(store.scratch.path)
        let opened = try store.scratch.open()
        #expect(try code { _ = try opened.names(in: nil) } == StoreError.corrupt)
        #expect(try code { try opened.put("x", as: "x") } == StoreError.corrupt)
        #expect(try code { try opened.compact() } == StoreError.corrupt)
        #expect(try RecordedDisk.read(store.scratch.path) == damaged, "\(start) + \(part)")
        try store.restore("journal")
      }
    }
    #expect(store.wrongAnswer(isDetected: false) == nil)
  }
}
