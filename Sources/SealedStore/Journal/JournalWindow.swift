import SessionToolsBase

/// Reads a journal from front to back through one buffer of 256 KiB at the most, or two of 1 MiB
/// where it is read ahead, however long the records are.
///
/// By `pread` and not by mapping: a file that someone cuts under a mapping kills the process.
struct JournalWindow {
  /// The longest range that can be asked for.
  static let largestRangeByteCount = largestBufferByteCount - pageByteCount

  private static let largestBufferByteCount = 256 << 10
  private static let pageByteCount = 4096

  /// What is read at once of a journal that is read ahead.
  private static let partByteCount = 1 << 20
  /// Shorter ones are read before another thread is awake.
  private static let smallestReadAheadByteCount = 16 << 20

  private let file: OpenFile
  private(set) var buffer: ByteBuffer
  private let readAhead: ReadAhead?
  /// The part of the file that is in the buffer.
  private var loaded = 0..<0

  /// - Parameters:
  ///   - file: The journal.
  ///   - spanByteCount: How far apart the first and the last byte are that will be asked for: a
  ///     few records need no large buffer.
  init(_ file: OpenFile, spanning spanByteCount: Int) {
    self.file = file
    readAhead = nil
    // From the beginning of the page in which it starts.
    let needed = min(max(spanByteCount, 0), Self.largestRangeByteCount) + Self.pageByteCount
    // Wiped in the end, because records may be opened in it.
    buffer = ByteBuffer(byteCount: needed, isSecret: true)
  }

  private init(_ file: OpenFile, _ readAhead: ReadAhead) {
    self.file = file
    self.readAhead = readAhead
    // Until the first part is there.
    buffer = ByteBuffer(byteCount: 0)
  }

  /// A window for a walk from front to back, in which nothing is opened and nothing asked for that
  /// is longer than a page.
  init(walking file: OpenFile, from start: Int, spanning spanByteCount: Int) {
    if spanByteCount < Self.smallestReadAheadByteCount {
      self.init(file, spanning: spanByteCount)
    } else {
      let start = Self.pageStart(of: start)
      self.init(file, ReadAhead(file, from: start, partByteCount: Self.partByteCount))
    }
  }

  private static func pageStart(of offset: Int) -> Int { offset & ~(pageByteCount - 1) }

  /// Where a part of the file stands in the buffer; `nil` when the file ends before it does.
  ///
  /// - Throws: `io`.
  mutating func offset(of range: Range<Int>) throws(StoreError) -> Int? {
    if range.lowerBound < loaded.lowerBound || range.upperBound > loaded.upperBound {
      try load(range)
      guard loaded.lowerBound <= range.lowerBound, range.upperBound <= loaded.upperBound else {
        return nil
      }
    }
    return range.lowerBound - loaded.lowerBound
  }

  private mutating func load(_ range: Range<Int>) throws(StoreError) {
    // Whole pages to whole pages: when source and target are a few bytes apart within their
    // pages, some processors copy six times slower.
    let start = Self.pageStart(of: range.lowerBound)
    guard let readAhead else {
      let count = try file.read(at: start, into: buffer, 0..<buffer.byteCount)
      loaded = start..<start + count
      return
    }
    repeat {
      (buffer, loaded) = try readAhead.advance { part in
        // With the last page once more, in which the next range may start; and what a long record
        // has behind its prefix is passed over.
        max(Self.pageStart(of: part.upperBound) - Self.pageByteCount, start)
      }
      // A part that is not full is the last.
    } while loaded.count == buffer.byteCount && loaded.upperBound <= range.lowerBound
  }

  /// How many bytes from an offset on can be passed over in a search for records.
  ///
  /// Each starts with its length, which is not zero, so whole blocks of zeros have none. Tells
  /// of bytes in the buffer only.
  func skippableByteCount(from offset: Int) -> Int {
    guard loaded.contains(offset) else { return 0 }
    let start = offset - loaded.lowerBound
    let block = min(Self.pageByteCount, loaded.count - start)
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
