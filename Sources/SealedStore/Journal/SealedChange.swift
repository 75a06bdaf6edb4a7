import SessionToolsBase

/// The records of a change, sealed into one buffer as they go to the end of the journal.
struct SealedChange {
  let buffer: ByteBuffer
  private(set) var entries: [(entry: ItemIndex.Entry, isRemoved: Bool)] = []
  /// The end of the journal with them.
  let end: JournalPosition

  /// Seals records, one or more.
  init(
    of records: [UnsealedRecord], journal: JournalIdentifier, after position: JournalPosition,
    keys: KeyRing, memory: SealingMemory
  ) {
    var sealer = RecordSealer(
      records.count, journal: journal, position: position, keys: keys, memory: memory)
    buffer = ByteBuffer(
      byteCount: records.reduce(0) { $0 + RecordPrefix.byteCount + $1.sealedByteCount })
    entries.reserveCapacity(records.count)
    var offset = 0
    for (position, record) in records.enumerated() {
      var flags: RecordFlags = position == 0 ? .first : []
      if position == records.count - 1 { flags.insert(.last) }
      let entry = record.seal(in: buffer, at: offset, flags: flags, &sealer, nameKey: keys.nameKey)
      entries.append((entry, record.isRemoval))
      offset += entry.recordByteCount
    }
    end = sealer.position
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
