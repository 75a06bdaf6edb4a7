import SessionToolsBase

/// Reads a journal from front to back through one buffer of 256 KiB at the most, however long the
/// records are.
///
/// By `pread` and not by mapping: a file that someone cuts under a mapping kills the process.
struct JournalWindow {
  /// The longest range that can be asked for.
  static let largestRangeByteCount = largestBufferByteCount - JournalPage.byteCount

  private static let largestBufferByteCount = 256 << 10

  private let file: OpenFile
  let buffer: ByteBuffer
  /// The part of the file that is in the buffer.
  private var loaded = 0..<0

  /// - Parameters:
  ///   - file: The journal.
  ///   - spanByteCount: How far apart the first and the last byte are that will be asked for: a
  ///     few records need no large buffer.
  init(_ file: OpenFile, spanning spanByteCount: Int) {
    self.file = file
    // From the beginning of the page in which it starts.
    let needed = min(max(spanByteCount, 0), Self.largestRangeByteCount) + JournalPage.byteCount
    // Wiped in the end, because records may be opened in it.
    buffer = ByteBuffer(byteCount: needed, isSecret: true)
  }

  /// Where a part of the file stands in the buffer; `nil` when the file ends before it does.
  ///
  /// - Throws: `io`.
  mutating func offset(of range: Range<Int>) throws(StoreError) -> Int? {
    if range.lowerBound < loaded.lowerBound || range.upperBound > loaded.upperBound {
      let start = JournalPage.start(of: range.lowerBound)
      let count = try file.read(at: start, into: buffer, 0..<buffer.byteCount)
      loaded = start..<start + count
      guard range.upperBound <= loaded.upperBound else { return nil }
    }
    return range.lowerBound - loaded.lowerBound
  }

  /// How many bytes from an offset on can be passed over in a search for records.
  ///
  /// Each starts with its length, which is not zero, so whole blocks of zeros have none. Tells
  /// of bytes in the buffer only.
  func skippableByteCount(from offset: Int) -> Int {
    guard loaded.contains(offset) else { return 0 }
    let start = offset - loaded.lowerBound
    let block = min(JournalPage.byteCount, loaded.count - start)
    guard block > MemoryLayout<UInt32>.size, buffer.isZero(start..<start + block) else { return 0 }
    return block - MemoryLayout<UInt32>.size
  }

  /// Where in a range to go on searching for records behind an offset at which none starts.
  ///
  /// - Throws: `io`.
  func nextCandidate(after offset: Int, in range: Range<Int>) throws(StoreError) -> Int {
    let skippable = skippableByteCount(from: offset)
    guard skippable > 0 else { return offset + 1 }
    // Or reading a hole of a terabyte, which anyone can make in no time, would take hours.
    let data = try file.nextData(from: offset) ?? range.upperBound
    return max(offset + skippable, data - MemoryLayout<UInt32>.size)
  }

  /// How many bytes of the file are in the buffer from an offset on.
  func byteCount(from offset: Int) -> Int {
    loaded.upperBound - offset
  }
}
