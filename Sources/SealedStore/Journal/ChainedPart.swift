import SecretStores

/// The part of the journal that the chain confirms, from its beginning to the break.
struct ChainedPart: Sendable {
  let head: JournalHead
  let byteCount: Int
  let number: UInt64
  let version: UInt64
  let index: ItemIndex
  /// Whether nothing shows that the journal went further.
  private let isWhole: Bool

  /// - Parameter view: The view, which is only read here, under the state's lock.
  init(_ view: JournalView) {
    head = view.head
    byteCount = view.end.byteCount
    number = view.end.number
    version = view.end.version
    index = view.index
    // If the mark is damaged, only the first change must be there.
    isWhole =
      view.damage.map { $0.isOfMark && (view.head.predecessor == nil || view.end.number > 0) }
      ?? true
  }

  /// Returns whether this part is the whole journal, and has no item.
  func isWholeAndEmpty(
    _ file: OpenFile, byteCount fileByteCount: Int
  ) throws(StoreError) -> Bool {
    guard isWhole, index.count == 0, byteCount <= fileByteCount else { return false }
    return try file.startOfTrailingZeros(in: byteCount..<fileByteCount) == byteCount
  }
}
