/// Records that a walk came by and that are not in the index yet: those of whole changes, and
/// behind them those of a change whose end was not reached.
struct PendingRecords {
  typealias Element = (entry: ItemIndex.Entry, isRemoved: Bool)

  /// So many are moved to the index at once: enough to fetch their places together, and few to
  /// keep.
  private static let movedAtOnceCount = 1024

  private var records: [Element] = []
  /// The last whole change.
  private var last = 0..<0
  /// Whether the last record does not end its change.
  private(set) var isInChange = false

  /// The records of the last whole change.
  var lastChange: ArraySlice<Element> { records[last] }

  mutating func append(_ prefix: RecordPrefix, at offset: Int) {
    records.append((ItemIndex.Entry(prefix, at: offset), prefix.flags.contains(.removed)))
    isInChange = true
  }

  /// Makes what was appended since the last change a change.
  mutating func endChange() {
    last = last.upperBound..<records.count
    isInChange = false
  }

  /// Moves all, whether their change has ended or not, when that is much.
  mutating func moveUnsettled(to live: inout LiveRecords) {
    guard records.count >= Self.movedAtOnceCount else { return }
    live.apply(records[...])
    records.removeAll(keepingCapacity: true)
    last = 0..<0
  }

  /// Moves all but the last change, when that is much.
  mutating func moveSettled(to live: inout LiveRecords) {
    guard last.lowerBound >= Self.movedAtOnceCount else { return }
    live.apply(records[..<last.lowerBound])
    records.removeFirst(last.lowerBound)
    last = 0..<records.count
  }

  /// Forgets the last whole change and what follows it.
  mutating func dropLastChange() {
    records.removeLast(records.count - last.lowerBound)
    last = records.count..<records.count
    isInChange = false
  }

  /// Moves all whole changes, and forgets what follows them.
  mutating func moveAll(to live: inout LiveRecords) {
    live.apply(records[..<last.upperBound])
    self = PendingRecords()
  }
}
