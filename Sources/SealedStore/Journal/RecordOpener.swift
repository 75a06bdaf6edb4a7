import SessionToolsBase

/// Opens single records of one journal.
struct RecordOpener {
  private let keys: KeyRing
  private let associatedData = ByteBuffer(byteCount: 48)

  init(journal: JournalIdentifier, keys: KeyRing) {
    self.keys = keys
    journal.bytes.store(in: associatedData, at: 0)
  }

  /// An open record, its plaintext in the buffer it was read into.
  struct OpenRecord {
    let prefix: RecordPrefix
    let buffer: ByteBuffer
    private let plaintext: Range<Int>
    private let keyRange: Range<Int>
    private let valueRange: Range<Int>

    fileprivate init?(prefix: RecordPrefix, buffer: ByteBuffer, plaintext: Range<Int>) {
      guard let layout = RecordPlaintext.layout(of: buffer, plaintext),
        !prefix.flags.contains(.removed) || layout.value.isEmpty
      else { return nil }
      self.prefix = prefix
      self.buffer = buffer
      self.plaintext = plaintext
      keyRange = layout.key
      valueRange = layout.value
    }

    /// Whether it is the record of a key, byte for byte.
    func isRecord(of canonicalKey: ByteBuffer) -> Bool {
      buffer.isEqual(keyRange, canonicalKey)
    }

    /// The tag of the key inside, which is the one in front for the name key of the journal.
    func tag(nameKey: KeyBytes) -> ItemTag {
      ItemTag(bytes: Sodium.hash16(buffer, keyRange, key: nameKey))
    }

    /// Copies the whole plaintext, padding included.
    func copyPlaintext(to other: ByteBuffer, at offset: Int) {
      other.copy(buffer, plaintext, to: offset)
    }

    /// The value, in memory that is wiped.
    var value: SecretBytes { buffer.secret(valueRange) }
    /// The canonical key.
    var keyBytes: [UInt8] { buffer.bytes(keyRange) }
    /// The key; `nil` when the bytes are none, which only a holder of the keys could write.
    var key: StoreKey? { StoreKey(canonicalBytes: keyBytes) }
    /// The length of the value.
    var valueByteCount: Int { valueRange.count }
  }

  /// Opens a whole record in place; `nil` when it is not authentic or not what a writer makes.
  ///
  /// - Parameters:
  ///   - buffer: Has the record from `offset` on; should be one that is wiped.
  ///   - offset: Where the record starts.
  /// - Returns: The record, in the same buffer.
  func open(_ buffer: ByteBuffer, at offset: Int = 0) -> OpenRecord? {
    guard offset + RecordPrefix.byteCount <= buffer.byteCount,
      let prefix = RecordPrefix(buffer, at: offset),
      offset + prefix.recordByteCount <= buffer.byteCount
    else { return nil }
    associatedData.copy(buffer, offset..<offset + RecordPrefix.boundByteCount, to: 16)
    let sealed = offset + RecordPrefix.byteCount..<offset + prefix.recordByteCount
    guard Sodium.open(buffer, sealed, associatedData: associatedData, key: keys.recordKey) else {
      return nil
    }
    return OpenRecord(
      prefix: prefix, buffer: buffer, plaintext: Sodium.plaintextRange(of: sealed))
  }

  /// Reads and opens a record; `nil` when there is none that is whole and authentic.
  ///
  /// - Throws: `io`.
  func read(
    from file: OpenFile, at start: Int, fileByteCount: Int
  ) throws(StoreError) -> OpenRecord? {
    guard start + RecordPlaintext.smallestRecordByteCount <= fileByteCount else { return nil }
    let head = ByteBuffer(byteCount: RecordPrefix.byteCount)
    guard try file.read(at: start, into: head, 0..<head.byteCount) == head.byteCount,
      let prefix = RecordPrefix(head, at: 0), start + prefix.recordByteCount <= fileByteCount
    else { return nil }
    return try read(from: file, at: start, byteCount: prefix.recordByteCount)
  }

  /// Reads and opens a record of a known length.
  ///
  /// - Throws: `io`.
  func read(
    from file: OpenFile, at start: Int, byteCount: Int
  ) throws(StoreError) -> OpenRecord? {
    let buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
    guard try file.read(at: start, into: buffer, 0..<byteCount) == byteCount else { return nil }
    return open(buffer)
  }
}

extension ItemTag {
  /// Names the item of a key.
  init(of key: StoreKey, nameKey: KeyBytes) {
    let canonicalKey = ByteBuffer(byteCount: key.canonicalByteCount)
    key.storeCanonical(in: canonicalKey, at: 0)
    self.init(
      bytes: Sodium.hash16(canonicalKey, 0..<canonicalKey.byteCount, key: nameKey))
  }
}
