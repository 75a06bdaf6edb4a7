import SessionToolsBase

/// The lengths of the two sealed parts of a record.
struct RecordLengths: Hashable, Sendable {
  /// The length of the sealed name.
  let name: Int
  /// The length of the sealed value.
  let value: Int

  // Computed, which the compiler does; a stored constant would be asked for by a call.
  private static var largestNameByteCount: Int {
    Sodium.tagByteCount + Padding.paddedByteCount(forName: 4 * (5 + Name.largestByteCount))
  }
  private static var largestValueByteCount: Int {
    Sodium.tagByteCount + Padding.paddedByteCount(for: 4 + SealedFileStore.largestValueByteCount)
  }

  /// The length of the shortest record.
  static let smallestRecordByteCount =
    RecordPrefix.byteCount + 2 * (Padding.floor + Sodium.tagByteCount)

  /// The lengths for a key and a value, before they are padded and sealed.
  init(keyByteCount: Int, valueByteCount: Int) {
    name = Sodium.tagByteCount + Padding.paddedByteCount(forName: keyByteCount)
    value = Sodium.tagByteCount + Padding.paddedByteCount(for: 4 + valueByteCount)
  }

  /// The lengths of a removal: those of what it removes, up to 4 KiB.
  init(keyByteCount: Int, removing removedByteCount: Int?) {
    let name = Sodium.tagByteCount + Padding.paddedByteCount(forName: keyByteCount)
    self.name = name
    let removed = removedByteCount.map { $0 - RecordPrefix.byteCount - name } ?? 0
    value = min(
      max(removed, Sodium.tagByteCount + Padding.floor),
      Sodium.tagByteCount + Padding.largestRemoval)
  }

  /// Reads lengths; `nil` when no record has them.
  ///
  /// Bounds what forged lengths cost.
  init?(_ buffer: borrowing ByteBuffer, at offset: Int) {
    name = Int(buffer.load(UInt32.self, at: offset))
    value = Int(buffer.load(UInt32.self, at: offset + 4))
    guard name <= Self.largestNameByteCount, value <= Self.largestValueByteCount,
      Padding.isPossibleName(name - Sodium.tagByteCount),
      Padding.isPossible(value - Sodium.tagByteCount)
    else { return nil }
  }

  func store(in buffer: ByteBuffer, at offset: Int) {
    buffer.store(UInt32(name), at: offset)
    buffer.store(UInt32(value), at: offset + 4)
  }

  /// The length of the whole record.
  var record: Int { RecordPrefix.byteCount + name + value }

  /// Where the sealed name is in a record that starts at an offset.
  func nameRange(at offset: Int) -> Range<Int> {
    let start = offset + RecordPrefix.byteCount
    return start..<start + name
  }

  /// Where the sealed value is in a record that starts at an offset.
  func valueRange(at offset: Int) -> Range<Int> {
    let start = offset + RecordPrefix.byteCount + name
    return start..<start + value
  }
}
