import SessionToolsBase

/// Opens single records of one journal.
struct RecordOpener {
  /// What the sealing binds: journal id 16 ‖ bound prefix 32.
  private static let associatedDataByteCount = 16 + RecordPrefix.boundByteCount

  private let journal: JournalIdentifier
  let keys: KeyRing

  init(journal: JournalIdentifier, keys: KeyRing) {
    self.journal = journal
    self.keys = keys
  }

  /// Memory to open records in a larger buffer with, one after another.
  static func associatedData() -> ByteBuffer { ByteBuffer(byteCount: associatedDataByteCount) }

  /// An open record, its plaintext in the buffer it was read into.
  struct OpenRecord {
    let prefix: RecordPrefix
    let buffer: ByteBuffer
    /// Where the record starts in the buffer.
    let offset: Int
    private let plaintext: Range<Int>
    private let keyRange: Range<Int>
    private let valueRange: Range<Int>

    fileprivate init?(
      prefix: RecordPrefix, buffer: ByteBuffer, offset: Int, plaintext: Range<Int>
    ) {
      guard let layout = RecordPlaintext.layout(of: buffer, plaintext),
        !prefix.flags.contains(.removed) || layout.value.isEmpty
      else { return nil }
      self.prefix = prefix
      self.buffer = buffer
      self.offset = offset
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
    /// The key; `nil` when the bytes are none, which only a holder of the keys could write.
    var key: StoreKey? {
      var reader = CanonicalKeyReader()
      return key(by: &reader)
    }

    /// The key, by a reader of many.
    func key(by reader: inout CanonicalKeyReader) -> StoreKey? { reader.key(in: buffer, keyRange) }

    /// The length of the value.
    var valueByteCount: Int { valueRange.count }
  }

  /// Opens a whole record in place; `nil` when it is not authentic or not what a writer makes.
  ///
  /// - Parameters:
  ///   - buffer: Has the record from `offset` on; should be one that is wiped.
  ///   - offset: Where the record starts.
  ///   - associatedData: Memory of ``associatedData()``.
  /// - Returns: The record, in the same buffer.
  func open(
    _ buffer: ByteBuffer, at offset: Int, with associatedData: ByteBuffer
  ) -> OpenRecord? {
    let bound = offset..<offset + RecordPrefix.boundByteCount
    guard bound.upperBound <= buffer.byteCount else { return nil }
    journal.bytes.store(in: associatedData, at: 0)
    associatedData.copy(buffer, bound, to: 16)
    return open(buffer, at: offset, associatedData, 0..<Self.associatedDataByteCount)
  }

  private func open(
    _ buffer: ByteBuffer, at offset: Int, _ associatedData: ByteBuffer, _ dataRange: Range<Int>
  ) -> OpenRecord? {
    guard offset + RecordPrefix.byteCount <= buffer.byteCount,
      let prefix = RecordPrefix(buffer, at: offset),
      offset + prefix.recordByteCount <= buffer.byteCount
    else { return nil }
    let sealed = offset + RecordPrefix.byteCount..<offset + prefix.recordByteCount
    let isAuthentic = Sodium.open(
      buffer, sealed, associatedData: associatedData, dataRange, key: keys.recordKey)
    guard isAuthentic else { return nil }
    return OpenRecord(
      prefix: prefix, buffer: buffer, offset: offset, plaintext: Sodium.plaintextRange(of: sealed))
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
    let buffer = Self.buffer(byteCount)
    let record = Self.recordRange(of: buffer)
    guard try file.read(at: start, into: buffer, record) == byteCount else { return nil }
    return open(buffer)
  }

  /// Memory for one record, with room in front of it for what the sealing binds besides.
  static func buffer(_ recordByteCount: Int) -> ByteBuffer {
    ByteBuffer(byteCount: 16 + recordByteCount, isSecret: true)
  }

  /// Where the record goes in memory of ``buffer(_:)``.
  static func recordRange(of buffer: ByteBuffer) -> Range<Int> { 16..<buffer.byteCount }

  /// Opens the record in memory of ``buffer(_:)``, in place.
  func open(_ buffer: ByteBuffer) -> OpenRecord? {
    // The bound part of the prefix stands behind it already.
    journal.bytes.store(in: buffer, at: 0)
    return open(buffer, at: 16, buffer, 0..<Self.associatedDataByteCount)
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
