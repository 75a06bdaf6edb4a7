import SecretStores

/// A reader of a journal from front to back, through one buffer of at most 256 KiB, however long
/// the records are.
///
/// The file is read with `pread` and not mapped: the process would be killed if someone cut a
/// mapped file.
struct JournalWindow {
  /// The longest range that can be requested.
  static let maximumRangeByteCount = maximumBufferByteCount - JournalPage.byteCount

  private static let maximumBufferByteCount = 256 << 10

  private let file: OpenFile
  let buffer: ByteBuffer
  /// The part of the file that is in the buffer.
  private var loaded = 0..<0

  /// - Parameters:
  ///   - file: The journal.
  ///   - spanByteCount: The distance between the first and the last byte that will be requested:
  ///     a few records need no large buffer.
  init(_ file: OpenFile, spanning spanByteCount: Int) {
    self.file = file
    // A range is read from the beginning of the page in which it starts.
    let needed = min(max(spanByteCount, 0), Self.maximumRangeByteCount) + JournalPage.byteCount
    // The buffer is wiped in the end, because records may be opened in it.
    buffer = ByteBuffer(byteCount: needed, isSecret: true)
  }

  /// Returns the offset of a part of the file in the buffer, after reading it if necessary; `nil`
  /// when the file ends before the part does.
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

  /// Returns how many bytes from an offset on a search for records can skip.
  ///
  /// A record starts with its length, which is not zero, so none starts in a block of zeros. Only
  /// bytes in the buffer are examined.
  func skippableByteCount(from offset: Int) -> Int {
    guard loaded.contains(offset) else { return 0 }
    let start = offset - loaded.lowerBound
    let block = min(JournalPage.byteCount, loaded.count - start)
    guard block > MemoryLayout<UInt32>.size, buffer.isZero(start..<start + block) else { return 0 }
    return block - MemoryLayout<UInt32>.size
  }

  /// Returns where in a range to continue a search for records behind an offset without one.
  ///
  /// - Throws: `io`.
  func nextCandidate(after offset: Int, in range: Range<Int>) throws(StoreError) -> Int {
    let skippable = skippableByteCount(from: offset)
    guard skippable > 0 else { return offset + 1 }
    // Holes are skipped: reading one of a terabyte, which anyone can make quickly, takes hours.
    let data = try file.nextData(from: offset) ?? range.upperBound
    return max(offset + skippable, data - MemoryLayout<UInt32>.size)
  }

  /// Returns how many bytes of the file are in the buffer from an offset on.
  func byteCount(from offset: Int) -> Int {
    loaded.upperBound - offset
  }
}

/// The pages in which a journal is read.
///
/// Whole pages are read to whole pages: when source and target are a few bytes apart within
/// their pages, some processors copy six times slower.
enum JournalPage {
  static let byteCount = 4096

  /// Returns the beginning of the page that contains a byte.
  static func start(of offset: Int) -> Int { offset & ~(byteCount - 1) }
}
