/// Zeros between the end of a journal and the end of its file: room for later changes.
///
/// The sync of a change that is written over them need not store a new length of the file, which
/// on ext4 takes a third of its time.
enum JournalReserve {
  /// A new reserve makes the length of the file a multiple of this.
  static let maximumByteCount = 32 << 10

  /// Returns where the file ends with a new reserve behind a journal of this length.
  static func end(behind byteCount: Int) -> Int {
    (byteCount + maximumByteCount - 1) / maximumByteCount * maximumByteCount
  }
}
