import SessionToolsBase

/// Records that stand one after the other in a journal.
struct JournalPart: Sendable {
  var records: [RecordPrefix] = []
  /// The end of the last record.
  var end: JournalPosition
  /// Whether no other record follows.
  var isLast = false

  /// A part without records, which ends where it starts.
  init(at start: JournalPosition) {
    end = start
  }
}

/// Reads a journal part by part, through memory of 256 KiB and a page at the most, however long the
/// records are.
///
/// Nothing is decrypted. By `pread` and not by mapping: a file that someone cuts under a mapping
/// kills the process.
struct JournalPartReader {
  /// How far apart the first bytes of a part's first and last record are at the most.
  static let partByteCount = 256 << 10

  private let file: OpenFile
  /// Bytes behind this one do not count: the file may grow meanwhile.
  private let fileByteCount: Int
  private let chainKey: KeyBytes
  private let chainInput = RecordChain.input()
  /// A part and a page: shorter records are whole in it.
  private let buffer: ByteBuffer
  /// What of the file is in the buffer.
  private var loaded = 0..<0
  /// The end of the sealed part of a record that ends behind the buffer.
  private let tagBuffer = ByteBuffer(byteCount: Sodium.tagByteCount)

  /// - Parameters:
  ///   - file: The journal.
  ///   - fileByteCount: How much of it counts.
  ///   - position: Where the first part will start: a few records need no large buffer.
  ///   - chainKey: The store's.
  init(
    _ file: OpenFile, fileByteCount: Int, from position: JournalPosition, chainKey: KeyBytes
  ) {
    self.file = file
    self.fileByteCount = fileByteCount
    self.chainKey = chainKey
    let span = max(fileByteCount - position.byteCount, 0)
    buffer = ByteBuffer(byteCount: min(span, Self.partByteCount) + JournalPage.byteCount)
  }

  /// Reads as much of the file as a part needs, from the beginning of a page on.
  ///
  /// - Throws: `io`.
  mutating func load(_ start: Int) throws(StoreError) {
    let count = try file.read(at: start, into: buffer, 0..<buffer.byteCount)
    loaded = start..<start + count
  }

  /// The records of what was read that start before some byte, as far as they are whole and have
  /// the right numbers.
  ///
  /// ``check(_:from:)`` looks at their chain.
  ///
  /// - Throws: `io`.
  func part(
    from start: JournalPosition, before partEnd: Int
  ) throws(StoreError) -> JournalPart {
    var part = JournalPart(at: start)
    while part.end.byteCount < partEnd {
      let offset = part.end.byteCount
      guard offset + RecordPrefix.byteCount <= min(fileByteCount, loaded.upperBound),
        let prefix = RecordPrefix(buffer, at: offset - loaded.lowerBound),
        prefix.number == part.end.number + 1
      else {
        part.isLast = true
        break
      }
      let end = offset + prefix.recordByteCount
      guard end <= fileByteCount, try isTagLoaded(endingAt: end) else {
        part.isLast = true
        break
      }
      part.records.append(prefix)
      part.end = JournalPosition(byteCount: end, number: prefix.number, chain: prefix.chain)
    }
    return part
  }

  /// Reads the tag of a record that ends behind the buffer; `false` when the file ends before.
  private func isTagLoaded(endingAt end: Int) throws(StoreError) -> Bool {
    guard end > loaded.upperBound else { return true }
    let tag = 0..<tagBuffer.byteCount
    return try file.read(at: end - tag.count, into: tagBuffer, tag) == tag.count
  }

  /// Takes out of the part that was read last what is not chained to what is before it.
  func check(_ part: inout JournalPart, from start: JournalPosition) {
    var chain = RecordChain(after: start, chainKey: chainKey, input: chainInput)
    for (index, record) in part.records.enumerated() {
      let offset = chain.position.byteCount
      chain.begin(buffer, at: offset - loaded.lowerBound)
      let end = offset + record.recordByteCount
      let value =
        end <= loaded.upperBound
        ? chain.value(buffer, tagOffset: end - Sodium.tagByteCount - loaded.lowerBound)
        : chain.value(tagBuffer, tagOffset: 0)
      guard value == record.chain else {
        part.records.removeSubrange(index...)
        part.end = chain.position
        part.isLast = true
        return
      }
      chain.advance(record.recordByteCount, number: record.number, chain: record.chain)
    }
  }
}
