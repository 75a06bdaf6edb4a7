import SessionToolsBase

/// Records that stand one after the other in a journal.
struct JournalPart: Sendable {
  var records: [RecordPrefix] = []
  /// The end of the last record.
  var end: RecordPosition
  /// Whether no other record follows.
  var isLast = false

  /// A part without records, which ends where it starts.
  init(at start: RecordPosition) {
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
  private let keys: KeyRing
  private let chainInput = RecordChain.input()
  /// A part and a page: shorter records are whole in it.
  private let buffer: ByteBuffer
  /// What of the file is in the buffer.
  private var loaded = 0..<0
  /// How many records the part before had: most have about as many.
  private var usualRecordCount = 0
  /// The tags of name and value of a record that ends behind the buffer.
  private let tagBuffer = ByteBuffer(byteCount: 2 * Sodium.tagByteCount)

  /// - Parameters:
  ///   - file: The journal.
  ///   - fileByteCount: How much of it counts.
  ///   - position: Where the first part will start: a few records need no large buffer.
  ///   - keys: The store's.
  init(_ file: OpenFile, fileByteCount: Int, from position: RecordPosition, keys: KeyRing) {
    self.file = file
    self.fileByteCount = fileByteCount
    self.keys = keys
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
  /// ``check(_:from:)`` looks at their chain and unmasks them.
  ///
  /// - Throws: `io`.
  mutating func part(
    from start: RecordPosition, before partEnd: Int
  ) throws(StoreError) -> JournalPart {
    var part = JournalPart(at: start)
    part.records.reserveCapacity(usualRecordCount)
    defer { usualRecordCount = part.records.count }
    while part.end.byteCount < partEnd {
      let offset = part.end.byteCount
      guard offset + RecordPrefix.byteCount <= min(fileByteCount, loaded.upperBound),
        let prefix = RecordPrefix(masked: buffer, at: offset - loaded.lowerBound),
        prefix.number == part.end.number + 1
      else {
        part.isLast = true
        break
      }
      let end = offset + prefix.recordByteCount
      var isWhole = end <= fileByteCount
      if isWhole, end > loaded.upperBound { isWhole = try loadTags(of: prefix, at: offset) }
      guard isWhole else {
        part.isLast = true
        break
      }
      part.records.append(prefix)
      part.end = RecordPosition(byteCount: end, number: prefix.number, chain: prefix.chain)
    }
    return part
  }

  /// Reads the tags of a record that ends behind the buffer; `false` when the file ends before.
  private func loadTags(of prefix: RecordPrefix, at offset: Int) throws(StoreError) -> Bool {
    let byteCount = Sodium.tagByteCount
    let ends = [
      prefix.lengths.nameRange(at: offset).upperBound, offset + prefix.recordByteCount,
    ]
    for (place, end) in ends.enumerated() {
      let tag = place * byteCount..<(place + 1) * byteCount
      guard try file.read(at: end - byteCount, into: tagBuffer, tag) == byteCount else {
        return false
      }
    }
    return true
  }

  /// Unmasks the records of the part that was read last, and takes out of it what is not chained
  /// to what is before it.
  func check(_ part: inout JournalPart, from start: RecordPosition) {
    var chain = RecordChain(after: start, chainKey: keys.chainKey, input: chainInput)
    for index in part.records.indices {
      let record = part.records[index]
      let offset = chain.position.byteCount - loaded.lowerBound
      chain.begin(buffer, at: offset)
      let end = offset + record.recordByteCount
      let value =
        end <= loaded.count
        ? chain.value(
          buffer, nameTag: record.lengths.nameRange(at: offset).upperBound - Sodium.tagByteCount,
          valueTag: end - Sodium.tagByteCount)
        : chain.value(tagBuffer, nameTag: 0, valueTag: Sodium.tagByteCount)
      guard value == record.chain,
        part.records[index].unmask(buffer, at: offset, maskKey: keys.maskKey)
      else {
        part.records.removeSubrange(index...)
        part.end = chain.position
        part.isLast = true
        return
      }
      chain.advance(record.recordByteCount, number: record.number, chain: record.chain)
    }
  }
}
