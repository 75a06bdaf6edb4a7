import SecretStores

/// An opener of single records of one journal.
struct RecordOpener: Sendable {
  /// The sealed parts of a record that are opened.
  enum Parts {
    case name, value, both
    /// The name, without unmasking kind and tag: the tag can be computed from the name.
    case nameOfKnownKind

    fileprivate var haveName: Bool { self != .value }
    fileprivate var haveValue: Bool { self == .value || self == .both }
  }

  private let journal: JournalIdentifier
  let keys: KeyRing
  // Copies of the ring's keys: taken from the ring, each would be retained for every record, and
  // threads that count references to the same memory wait for each other.
  private let maskKey: KeyBytes
  private let nameKey: KeyBytes
  private let valueKey: KeyBytes
  private let tagKey: KeyBytes

  init(journal: JournalIdentifier, keys: KeyRing) {
    self.journal = journal
    self.keys = keys
    maskKey = keys.maskKey
    nameKey = keys.nameKey
    valueKey = keys.valueKey
    tagKey = keys.tagKey
  }

  /// Allocates memory for the associated data of records that are opened in a larger buffer, one
  /// after another.
  static func associatedData() -> ByteBuffer {
    ByteBuffer(byteCount: RecordPrefix.associatedDataByteCount)
  }

  /// An open record, whose parts are in the buffer into which it was read.
  struct OpenRecord {
    let prefix: RecordPrefix
    let buffer: ByteBuffer
    /// The start of the record in the buffer.
    let offset: Int
    /// The range of the canonical name; empty in a void change, and when the name was not opened.
    fileprivate(set) var canonicalName = 0..<0
    /// The range of the value; empty when it was not opened.
    fileprivate(set) var valueRange = 0..<0

    /// Whether the record changes no item.
    var isVoid: Bool { canonicalName.isEmpty && prefix.kind.contains(.removed) }

    /// The value, in memory that is wiped.
    var value: SecretBytes { buffer.secret(valueRange) }

    /// The name; `nil` when the bytes are not a name, which only a holder of the keys could write.
    var name: ItemName? {
      var reader = CanonicalNameReader()
      return name(by: &reader)
    }

    /// Reads the name with a reader that is used for many names.
    func name(by reader: inout CanonicalNameReader) -> ItemName? {
      reader.name(in: buffer, canonicalName)
    }
  }

  /// Computes the tag of the name in an open record, which should be the one in the prefix.
  func tag(of record: OpenRecord) -> ItemTag {
    ItemTag(of: record.buffer, record.canonicalName, tagKey: tagKey)
  }

  /// Returns when the item of an open record was put; `nil` when the writer wrote no time.
  func time(of record: OpenRecord) -> RecordTime? {
    RecordPrefix.time(record.buffer, at: record.offset, maskKey: maskKey)
  }

  /// Opens a whole record in place; `nil` when it is not authentic or not what a writer makes.
  ///
  /// - Parameters:
  ///   - buffer: The buffer with the record from `offset` on, at least the bytes that the parts
  ///     need; it should be one that is wiped.
  ///   - offset: The start of the record.
  ///   - parts: The parts to open.
  ///   - associatedData: Memory from ``associatedData()``.
  /// - Returns: The record, in the same buffer.
  func open(
    _ buffer: ByteBuffer, at offset: Int, _ parts: Parts, with associatedData: ByteBuffer
  ) -> OpenRecord? {
    let bound = offset..<offset + RecordPrefix.boundByteCount
    guard bound.upperBound <= buffer.byteCount else { return nil }
    journal.bytes.store(in: associatedData, at: 0)
    associatedData.copy(buffer, bound, to: 16)
    return open(buffer, at: offset, parts, associatedData)
  }

  private func open(
    _ buffer: ByteBuffer, at offset: Int, _ parts: Parts, _ associatedData: ByteBuffer
  ) -> OpenRecord? {
    guard offset + RecordPrefix.byteCount <= buffer.byteCount,
      let prefix = parts == .nameOfKnownKind
        ? RecordPrefix(masked: buffer, at: offset)
        : RecordPrefix(buffer, at: offset, maskKey: maskKey),
      offset + prefix.lengths.byteCount(of: parts) <= buffer.byteCount
    else { return nil }
    var record = OpenRecord(prefix: prefix, buffer: buffer, offset: offset)
    if parts.haveName {
      guard let name = openName(of: prefix, buffer, at: offset, associatedData) else { return nil }
      record.canonicalName = name
    }
    if parts.haveValue {
      guard let value = Self.openValue(of: prefix, buffer, at: offset, associatedData, valueKey)
      else {
        return nil
      }
      record.valueRange = value
    }
    return record
  }

  /// Opens the name of a record in place, and returns the range of its canonical name.
  private func openName(
    of prefix: RecordPrefix, _ buffer: ByteBuffer, at offset: Int, _ associatedData: ByteBuffer
  ) -> Range<Int>? {
    let sealed = prefix.lengths.nameRange(at: offset)
    guard
      Sodium.open(
        buffer, sealed, nonce: RecordPrefix.nonceRange(at: offset),
        associatedData: associatedData, 0..<RecordPrefix.associatedDataByteCount, key: nameKey)
    else { return nil }
    let padded = sealed.lowerBound..<sealed.upperBound - Sodium.tagByteCount
    let byteCount = ItemName.canonicalByteCount(in: buffer, padded)
    let name = padded.lowerBound..<padded.lowerBound + byteCount
    guard Padding.paddedByteCount(forName: byteCount) == padded.count,
      buffer.isZero(name.upperBound..<padded.upperBound)
    else { return nil }
    return name
  }

  /// Opens the value of a record in place, and returns its range.
  private static func openValue(
    of prefix: RecordPrefix, _ buffer: ByteBuffer, at offset: Int, _ associatedData: ByteBuffer,
    _ valueKey: KeyBytes
  ) -> Range<Int>? {
    let sealed = prefix.lengths.valueRange(at: offset)
    guard
      Sodium.open(
        buffer, sealed, nonce: RecordPrefix.nonceRange(at: offset),
        associatedData: associatedData, 0..<RecordPrefix.associatedDataByteCount, key: valueKey)
    else { return nil }
    return Padding.value(
      in: buffer, sealed.lowerBound..<sealed.upperBound - Sodium.tagByteCount,
      isRemoval: prefix.kind.contains(.removed))
  }

  /// Reads and opens a record; `nil` when there is no whole and authentic record.
  ///
  /// - Throws: `io`.
  func read(
    from file: OpenFile, at start: Int, fileByteCount: Int, _ parts: Parts
  ) throws(StoreError) -> OpenRecord? {
    guard start + RecordLengths.minimumRecordByteCount <= fileByteCount else { return nil }
    let head = ByteBuffer(byteCount: RecordPrefix.byteCount)
    guard try file.read(at: start, into: head, 0..<head.byteCount) == head.byteCount,
      let lengths = RecordLengths(head, at: 0), start + lengths.record <= fileByteCount
    else { return nil }
    return try read(from: file, at: start, lengths, parts)
  }

  /// Reads and opens a record of known lengths; if only the name is opened, the value is not read.
  ///
  /// - Throws: `io`.
  func read(
    from file: OpenFile, at start: Int, _ lengths: RecordLengths, _ parts: Parts
  ) throws(StoreError) -> OpenRecord? {
    let byteCount = lengths.byteCount(of: parts)
    // The associated data of both sealings is the journal's identifier and the bytes behind it.
    let buffer = ByteBuffer(byteCount: 16 + byteCount, isSecret: true)
    guard try file.read(at: start, into: buffer, 16..<16 + byteCount) == byteCount else {
      return nil
    }
    journal.bytes.store(in: buffer, at: 0)
    return open(buffer, at: 16, parts, buffer)
  }

  /// A record of which at least one part opens, which proves its prefix: both parts bind that.
  struct PartlyOpenRecord {
    let record: OpenRecord
    /// Whether the name opens, and is the one to which the tag belongs.
    let hasName: Bool
    let hasValue: Bool
  }

  /// Reads a record, and opens each of its parts on its own; `nil` when neither opens.
  ///
  /// - Throws: `io`.
  func readParts(
    from file: OpenFile, at start: Int, _ lengths: RecordLengths
  ) throws(StoreError) -> PartlyOpenRecord? {
    let buffer = ByteBuffer(byteCount: 16 + lengths.record, isSecret: true)
    guard try file.read(at: start, into: buffer, 16..<buffer.byteCount) == lengths.record,
      let prefix = RecordPrefix(buffer, at: 16, maskKey: maskKey), prefix.lengths == lengths
    else { return nil }
    journal.bytes.store(in: buffer, at: 0)
    var record = OpenRecord(prefix: prefix, buffer: buffer, offset: 16)
    var hasName = false
    if let name = openName(of: prefix, buffer, at: 16, buffer) {
      record.canonicalName = name
      hasName = tag(of: record) == prefix.tag && (record.isVoid || record.name != nil)
    }
    let value = Self.openValue(of: prefix, buffer, at: 16, buffer, valueKey)
    if let value { record.valueRange = value }
    guard hasName || value != nil else { return nil }
    return PartlyOpenRecord(record: record, hasName: hasName, hasValue: value != nil)
  }
}

extension RecordLengths {
  /// Returns how many bytes of a record are needed to open parts of it.
  fileprivate func byteCount(of parts: RecordOpener.Parts) -> Int {
    parts.haveValue ? record : nameRange(at: 0).upperBound
  }
}

extension ItemTag {
  /// Computes the tag of a name's item.
  init(of name: ItemName, tagKey: KeyBytes) {
    let canonicalName = ByteBuffer(byteCount: name.canonicalByteCount)
    name.storeCanonical(in: canonicalName, at: 0)
    self.init(of: canonicalName, 0..<canonicalName.byteCount, tagKey: tagKey)
  }
}
