/// Zeros between the end of a journal and that of its file: room for the changes to come.
///
/// The sync of a change that is written over them does not have to store a new length of the file,
/// which on ext4 takes a third of its time.
enum JournalReserve {
  /// A new one ends where the length of the file is a multiple of this.
  static let largestByteCount = 32 << 10

  /// Where the file ends when there is a new reserve behind a journal.
  static func end(behind byteCount: Int) -> Int {
    (byteCount + largestByteCount - 1) / largestByteCount * largestByteCount
  }
}
