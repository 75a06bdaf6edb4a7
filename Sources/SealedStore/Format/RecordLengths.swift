import SessionToolsBase

/// The lengths of the two sealed parts of a record.
struct RecordLengths: Hashable, Sendable {
  /// The length of the sealed name.
  let name: Int
  /// The length of the sealed value.
  let value: Int

  // The compiler folds these computed properties; a stored constant would be read through a call.
  private static var largestNameByteCount: Int {
    Sodium.tagByteCount + Padding.paddedByteCount(forName: 4 * (5 + Name.largestByteCount))
  }
  private static var largestValueByteCount: Int {
    Sodium.tagByteCount + Padding.paddedByteCount(for: 4 + SealedFileStore.largestValueByteCount)
  }

  /// The length of the shortest record.
  static let smallestRecordByteCount =
    RecordPrefix.byteCount + 2 * (Padding.floor + Sodium.tagByteCount)

  /// Computes the lengths from those of the key and the value before padding and sealing.
  init(keyByteCount: Int, valueByteCount: Int) {
    name = Sodium.tagByteCount + Padding.paddedByteCount(forName: keyByteCount)
    value = Sodium.tagByteCount + Padding.paddedByteCount(for: 4 + valueByteCount)
  }

  /// Computes the lengths of a removal: those of the record that it removes, up to 4 KiB of value.
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
  /// This bounds the cost of forged lengths.
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

  /// Returns the range of the sealed name in a record that starts at an offset.
  func nameRange(at offset: Int) -> Range<Int> {
    let start = offset + RecordPrefix.byteCount
    return start..<start + name
  }

  /// Returns the range of the sealed value in a record that starts at an offset.
  func valueRange(at offset: Int) -> Range<Int> {
    let start = offset + RecordPrefix.byteCount + name
    return start..<start + value
  }
}
