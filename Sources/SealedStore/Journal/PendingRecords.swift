import SecretStores

/// Records that a walk passed and that are not in the index yet.
struct PendingRecords {
  typealias Element = (entry: ItemIndex.Entry, isRemoved: Bool)

  /// The number of records that are moved to the index at once: enough to fetch their places
  /// together, and few enough to keep.
  private static let movedAtOnceCount = 1024

  private(set) var records: [Element] = []

  mutating func append(_ prefix: RecordPrefix, at offset: Int) {
    records.append((ItemIndex.Entry(prefix, at: offset), prefix.kind.contains(.removed)))
  }

  /// Drops the records from a place on.
  mutating func drop(from place: Int) {
    records.removeSubrange(place...)
  }

  /// Whether there are enough to move them.
  var isMany: Bool { records.count >= Self.movedAtOnceCount }

  /// Moves all records to the live ones.
  mutating func moveAll(to live: inout LiveRecords) {
    live.apply(records[...])
    records.removeAll(keepingCapacity: true)
  }
}
