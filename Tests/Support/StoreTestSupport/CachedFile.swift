import SessionToolsBase

/// The possible contents of one file on the disk: each sector, and the length, may be what the
/// kernel's cache held at any moment since the last sync.
///
/// Sectors and length are independent of each other: unsynced writes are dropped, kept, reordered
/// and torn in every combination. A file may have grown before its data is there; it then reads
/// as zeros. A cut behaves like a write of zeros and a shorter length, so it may be lost although
/// later writes are there. Real file systems order some of that (ext4 and XFS do not reuse blocks
/// before the cut is in their log), so this model is harsher.
struct CachedFile: Sendable {
  static let sectorByteCount = 512

  /// What each sector may hold, from the oldest to the newest, which programs read.
  private(set) var sectors: [[[UInt8]]] = []
  /// The lengths that the file may have; the last is what programs see.
  private(set) var byteCounts = [0]
  private var dirtySectors: Set<Int> = []
  private var isByteCountDirty = false
  /// The end of the bytes that were written since the last sync.
  private var dirtyEnd = 0

  /// Creates an empty file of which nothing is known to be on the disk.
  init() {}

  /// Creates a file whose content is known to be on the disk.
  init(_ content: [UInt8]) {
    write(content, at: 0)
    synchronize()
  }

  /// The sectors with more than one possible content.
  var openSectors: [Int] { sectors.indices.filter { sectors[$0].count > 1 } }

  mutating func write(_ bytes: [UInt8], at offset: Int) {
    guard !bytes.isEmpty else { return }
    let end = offset + bytes.count
    for number in offset / Self.sectorByteCount...(end - 1) / Self.sectorByteCount {
      let start = number * Self.sectorByteCount
      let (from, to) = (max(start, offset), min(start + Self.sectorByteCount, end))
      change(number) { sector in
        sector.replaceSubrange(from - start..<to - start, with: bytes[from - offset..<to - offset])
      }
    }
    dirtyEnd = max(dirtyEnd, end)
    guard let byteCount = byteCounts.last, end >= byteCount else { return }
    // A write that reaches the end sets the length in the kernel again.
    isByteCountDirty = true
    let next = (byteCount / Self.sectorByteCount + 1) * Self.sectorByteCount
    // Of the lengths that differ only by trailing zeros, only the shortest and the full one count.
    let zeros = offset + ByteBuffer(bytes).startOfTrailingZeros(in: 0..<bytes.count)
    for border in stride(from: next, to: end, by: Self.sectorByteCount) {
      setByteCount(border)
      if border >= zeros { break }
    }
    setByteCount(end)
  }

  mutating func truncate(to byteCount: Int) {
    for number in byteCount / Self.sectorByteCount..<sectors.count {
      let kept = max(0, byteCount - number * Self.sectorByteCount)
      change(number) { sector in
        sector.replaceSubrange(
          kept..<sector.count, with: [UInt8](repeating: 0, count: sector.count - kept))
      }
    }
    dirtyEnd = min(dirtyEnd, byteCount)
    isByteCountDirty = true
    setByteCount(byteCount)
  }

  mutating func synchronize() {
    for number in dirtySectors { sectors[number].removeFirst(sectors[number].count - 1) }
    // A file is at least as long as its synced data, even when its length was not set again.
    byteCounts.removeAll { $0 < dirtyEnd }
    if isByteCountDirty { byteCounts.removeFirst(byteCounts.count - 1) }
    dropUnsynced()
  }

  /// Models a failed sync: the kernel marks the pages as clean, so that no later sync saves their
  /// content, which may nevertheless have reached the disk.
  mutating func dropUnsynced() {
    dirtySectors = []
    isByteCountDirty = false
    dirtyEnd = 0
  }

  /// Returns one of the possible contents.
  ///
  /// - Parameters:
  ///   - byteCount: The position of the length in ``byteCounts``.
  ///   - versions: For each of ``openSectors``, the position of one of its contents.
  /// - Returns: What a program would read.
  func content(byteCount: Int, versions: ArraySlice<Int>) -> [UInt8] {
    let length = byteCounts[byteCount]
    var content: [UInt8] = []
    content.reserveCapacity(sectors.count * Self.sectorByteCount)
    var versions = versions
    for sector in sectors {
      content += sector[sector.count > 1 ? versions.removeFirst() : 0]
    }
    if content.count > length { content.removeLast(content.count - length) }
    return content
  }

  private mutating func change(_ number: Int, _ body: (inout [UInt8]) -> Void) {
    let zeros = [UInt8](repeating: 0, count: Self.sectorByteCount)
    while sectors.count <= number { sectors.append([zeros]) }
    guard var sector = sectors[number].last else { return }
    body(&sector)
    dirtySectors.insert(number)
    // Content that recurs becomes the newest again, not a further possibility.
    sectors[number].removeAll { $0 == sector }
    sectors[number].append(sector)
  }

  private mutating func setByteCount(_ byteCount: Int) {
    byteCounts.removeAll { $0 == byteCount }
    byteCounts.append(byteCount)
  }
}
