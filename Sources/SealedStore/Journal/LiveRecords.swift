/// The newest record of every item, and their total length.
struct LiveRecords: Sendable {
  /// The index of the records.
  private(set) var index = ItemIndex()
  /// The total length of the records.
  private(set) var byteCount = 0

  /// Makes an entry the newest of its item, or removes the item.
  mutating func apply(_ entry: ItemIndex.Entry, isRemoved: Bool) {
    let old: ItemIndex.Entry?
    if isRemoved {
      old = index.remove(entry.tag)
    } else {
      old = index.update(entry)
      byteCount += entry.recordByteCount
    }
    byteCount -= old?.recordByteCount ?? 0
  }

  /// Makes entries the newest of their items, or removes the items, in this order.
  mutating func apply(_ records: ArraySlice<PendingRecords.Element>) {
    for start in stride(from: records.startIndex, to: records.endIndex, by: Self.batchCount) {
      let batch = records[start..<min(start + Self.batchCount, records.endIndex)]
      index.fetchPlaces(of: batch.lazy.map(\.entry.tag))
      for (entry, isRemoved) in batch { apply(entry, isRemoved: isRemoved) }
    }
  }

  /// At least as many places as a processor can wait for at the same time.
  private static let batchCount = 32

  /// Makes room for a number of items, to save growing step by step.
  mutating func reserve(_ count: Int) {
    index.reserve(count)
  }
}
