import SessionToolsBase

/// The records of a change, sealed into one buffer as they go to the end of the journal, and a new
/// reserve behind them when they do not fit into the old one.
struct SealedChange {
  private(set) var entries: [(entry: ItemIndex.Entry, isRemoved: Bool)] = []
  /// The end of the journal with them.
  let end: JournalPosition
  let buffer: ByteBuffer
  private let start: Int
  private let byteCount: Int
  private let firstFlags: UInt8

  /// Seals records, one or more.
  ///
  /// - Parameters:
  ///   - records: What to seal.
  ///   - journal: What they are bound to.
  ///   - position: The end of the journal without them.
  ///   - fileByteCount: The length of the journal's file.
  ///   - keys: What seals and chains them.
  ///   - memory: Used by nobody else until the change is sealed.
  init(
    of records: [UnsealedRecord], journal: JournalIdentifier, after position: JournalPosition,
    fileByteCount: Int, keys: KeyRing, memory: SealingMemory
  ) {
    var sealer = RecordSealer(
      records.count, journal: journal, position: position, keys: keys, memory: memory)
    start = position.byteCount
    byteCount = records.reduce(0) { $0 + RecordPrefix.byteCount + $1.sealedByteCount }
    let end = start + byteCount
    buffer = ByteBuffer(
      byteCount: (end <= fileByteCount ? end : JournalReserve.end(behind: end)) - start)
    entries.reserveCapacity(records.count)
    var offset = 0
    for (position, record) in records.enumerated() {
      var flags: RecordFlags = position == 0 ? .first : []
      if position == records.count - 1 { flags.insert(.last) }
      let entry = record.seal(in: buffer, at: offset, flags: flags, &sealer, nameKey: keys.nameKey)
      entries.append((entry, record.isRemoval))
      offset += entry.recordByteCount
    }
    self.end = sealer.position
    firstFlags = buffer.load(UInt8.self, at: RecordPrefix.flagsOffset)
  }

  /// Whether there is a reserve behind the records.
  var hasReserve: Bool { buffer.byteCount > byteCount }

  /// Writes the change so that readers, who take no lock, see all of it or nothing.
  ///
  /// First without the flags with which it begins, then these, which are one byte.
  ///
  /// - Parameters:
  ///   - file: The journal.
  ///   - withReserve: Whether the reserve is written as well, if there is one.
  /// - Returns: How long the file is at least.
  /// - Throws: `noSpace`, `accessDenied` or `io`; a part may have been written then.
  func write(to file: OpenFile, withReserve: Bool) throws(StoreError) -> Int {
    let written = 0..<(withReserve ? buffer.byteCount : byteCount)
    let flagsOffset = RecordPrefix.flagsOffset
    buffer.store(UInt8(0), at: flagsOffset)
    try file.write(buffer, written, at: start)
    buffer.store(firstFlags, at: flagsOffset)
    try file.write(buffer, flagsOffset..<flagsOffset + 1, at: start + flagsOffset)
    return start + written.count
  }
}

/// A record before it is sealed.
struct UnsealedRecord {
  let key: StoreKey
  let value: SecretBytes?
  private let keyByteCount: Int
  let sealedByteCount: Int

  init(_ change: StoreChange) {
    switch change {
    case .put(let value, for: let key):
      self.key = key
      self.value = value
    case .remove(let key):
      self.key = key
      value = nil
    }
    keyByteCount = key.canonicalByteCount
    sealedByteCount = RecordPlaintext.sealedByteCount(
      keyByteCount: keyByteCount, valueByteCount: value?.byteCount ?? 0)
  }

  var isRemoval: Bool { value == nil }

  func tag(nameKey: KeyBytes) -> ItemTag {
    ItemTag(of: key, nameKey: nameKey)
  }

  /// Writes the plaintext into a buffer of zeros and seals it there.
  func seal(
    in buffer: ByteBuffer, at offset: Int, flags: RecordFlags, _ sealer: inout RecordSealer,
    nameKey: KeyBytes
  ) -> ItemIndex.Entry {
    let plaintext = offset + RecordPrefix.byteCount + Sodium.nonceByteCount
    let keyRange = plaintext + 8..<plaintext + 8 + keyByteCount
    buffer.store(UInt32(keyByteCount), at: plaintext)
    buffer.store(UInt32(value?.byteCount ?? 0), at: plaintext + 4)
    key.storeCanonical(in: buffer, at: keyRange.lowerBound)
    if let value { buffer.copy(value, to: keyRange.upperBound) }
    let tag = ItemTag(bytes: Sodium.hash16(buffer, keyRange, key: nameKey))
    return sealer.seal(
      buffer, at: offset, sealedByteCount: sealedByteCount,
      flags: isRemoval ? flags.union(.removed) : flags, tag: tag)
  }
}
