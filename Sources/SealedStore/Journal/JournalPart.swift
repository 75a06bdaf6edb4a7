import SecretStores

/// Consecutive records of a journal.
struct JournalPart: Sendable {
  var records: [RecordPrefix] = []
  /// The end of the last record.
  var end: RecordPosition
  /// Whether no other record follows.
  var isLast = false

  /// Creates a part without records, which ends where it starts.
  init(at start: RecordPosition) {
    end = start
  }
}

/// A reader of a journal, part by part.
///
/// It takes at most 256 KiB and a page of memory, however long the records are. Nothing is
/// decrypted. The file is read with `pread` and not mapped: the process would be killed if someone
/// cut a mapped file.
struct JournalPartReader {
  /// The largest distance between the starts of a part's first and last record.
  static let partByteCount = 256 << 10

  private let file: OpenFile
  /// The number of bytes to look at: the file may grow meanwhile.
  private let fileByteCount: Int
  private let keys: KeyRing
  private let chainInput = RecordChain.input()
  /// Room for a part and a page: records that are no longer than a page are whole in it.
  private let buffer: ByteBuffer
  /// The range of the file that is in the buffer.
  private var loaded = 0..<0
  /// The number of records in the previous part: most parts have about as many.
  private var usualRecordCount = 0
  /// The tags of name and value of a record that ends behind the buffer.
  private let tagBuffer = ByteBuffer(byteCount: 2 * Sodium.tagByteCount)

  /// - Parameters:
  ///   - file: The journal.
  ///   - fileByteCount: The number of bytes of it to look at.
  ///   - position: The start of the first part: a few records need no large buffer.
  ///   - keys: The store's keys.
  init(_ file: OpenFile, fileByteCount: Int, from position: RecordPosition, keys: KeyRing) {
    self.file = file
    self.fileByteCount = fileByteCount
    self.keys = keys
    let span = max(fileByteCount - position.byteCount, 0)
    buffer = ByteBuffer(byteCount: min(span, Self.partByteCount) + JournalPage.byteCount)
  }

  /// Reads the bytes that a part needs, from the beginning of a page on.
  ///
  /// - Throws: `io`.
  mutating func load(_ start: Int) throws(StoreError) {
    let count = try file.read(at: start, into: buffer, 0..<buffer.byteCount)
    loaded = start..<start + count
  }

  /// Returns the loaded records that start before some byte, up to the first that is not whole or
  /// has a wrong number.
  ///
  /// ``check(_:from:)`` then checks their chain and unmasks them.
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

  /// Reads the tags of a record that ends behind the buffer; `false` when the file is shorter.
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

  /// Unmasks the records of the part that was read last, and drops the records from the first one
  /// on that is not chained to the one before it.
  func check(_ part: inout JournalPart, from start: RecordPosition) {
    let maskKey = keys.maskKey
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
        part.records[index].unmask(buffer, at: offset, maskKey: maskKey)
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
