import SessionToolsBase

/// The records of a change, sealed into one buffer for the end of the journal, with a new reserve
/// behind them when they do not fit into the old one.
struct SealedChange {
  private(set) var entries: [(entry: ItemIndex.Entry, isRemoved: Bool)] = []
  /// The end of the journal with the records.
  let end: JournalPosition
  let buffer: ByteBuffer
  private let start: Int
  private let byteCount: Int

  /// Seals records, one or more.
  ///
  /// - Parameters:
  ///   - records: The records to seal.
  ///   - journal: The journal to which they are bound.
  ///   - position: The end of the journal without them.
  ///   - fileByteCount: The length of the journal's file.
  ///   - keys: The keys that seal and chain them.
  ///   - memory: Memory that is not used for anything else until the change is sealed.
  init(
    of records: [UnsealedRecord], journal: JournalIdentifier, after position: JournalPosition,
    fileByteCount: Int, keys: KeyRing, memory: SealingMemory
  ) {
    var sealer = RecordSealer(
      records.count, journal: journal, position: position.record, keys: keys, memory: memory)
    start = position.byteCount
    byteCount = records.reduce(0) { $0 + $1.lengths.record }
    let end = start + byteCount
    buffer = ByteBuffer(
      byteCount: (end <= fileByteCount ? end : JournalReserve.end(behind: end)) - start)
    entries.reserveCapacity(records.count)
    var offset = 0
    for (place, record) in records.enumerated() {
      var kind: RecordKind = place == 0 ? .first : []
      if place == records.count - 1 { kind.insert(.last) }
      let entry = record.seal(in: buffer, at: offset, kind: kind, &sealer, tagKey: keys.tagKey)
      entries.append((entry, record.isRemoval))
      offset += entry.recordByteCount
    }
    self.end = JournalPosition(record: sealer.position, version: position.version &+ 1)
  }

  /// Whether there is a reserve behind the records.
  var hasReserve: Bool { buffer.byteCount > byteCount }

  /// Writes the change, which counts once the mark includes it.
  ///
  /// - Parameters:
  ///   - file: The journal.
  ///   - withReserve: Whether the reserve is also written, if there is one.
  ///   - written: The number of bytes that were written, also after a failure.
  /// - Returns: The length that the file has at least.
  /// - Throws: `noSpace`, `accessDenied` or `io`; a part may have been written then, and all of the
  ///   change when there is a reserve.
  func write(
    to file: OpenFile, withReserve: Bool, written: inout Int
  ) throws(StoreError) -> Int {
    let range = 0..<(withReserve ? buffer.byteCount : byteCount)
    try file.write(buffer, range, at: start, written: &written)
    return start + range.count
  }
}

/// A record before it is sealed.
struct UnsealedRecord {
  /// The key of the item; `nil` in a void change.
  let key: StoreKey?
  private let value: SecretBytes?
  private let keyByteCount: Int
  let lengths: RecordLengths

  /// Creates a record that puts a value.
  init(_ value: SecretBytes, for key: StoreKey) {
    self.key = key
    self.value = value
    keyByteCount = key.canonicalByteCount
    lengths = RecordLengths(keyByteCount: keyByteCount, valueByteCount: value.byteCount)
  }

  /// Creates a record that removes an item.
  ///
  /// - Parameters:
  ///   - key: The key of the item.
  ///   - recordByteCount: The length of the record that is removed.
  init(removing key: StoreKey, recordByteCount: Int) {
    self.key = key
    value = nil
    keyByteCount = key.canonicalByteCount
    lengths = RecordLengths(keyByteCount: keyByteCount, removing: recordByteCount)
  }

  private init() {
    key = nil
    value = nil
    keyByteCount = 0
    lengths = RecordLengths(keyByteCount: 0, removing: nil)
  }

  /// A record that changes no item: the removal of an empty name.
  static let void = UnsealedRecord()

  var isRemoval: Bool { value == nil }

  /// Writes the record into a buffer of zeros and seals it there.
  func seal(
    in buffer: ByteBuffer, at offset: Int, kind: RecordKind, _ sealer: inout RecordSealer,
    tagKey: KeyBytes
  ) -> ItemIndex.Entry {
    let name = lengths.nameRange(at: offset).lowerBound
    key?.storeCanonical(in: buffer, at: name)
    let tag = ItemTag(of: buffer, name..<name + keyByteCount, tagKey: tagKey)
    if let value {
      let start = lengths.valueRange(at: offset).lowerBound
      buffer.store(UInt32(value.byteCount), at: start)
      buffer.copy(value, to: start + 4)
    }
    return sealer.seal(
      buffer, at: offset, lengths, kind: isRemoval ? kind.union(.removed) : kind, tag: tag)
  }
}
