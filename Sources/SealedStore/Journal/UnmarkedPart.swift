import SecretStores

/// The part of a journal behind its mark.
///
/// It has changes that were never marked, of which all but the last are certainly on the disk; the
/// remains of a change that was not finished; or damage. Only a holder of the writer's lock may use
/// it: otherwise another process may be writing there.
struct UnmarkedPart {
  /// A whole change.
  private struct Change {
    /// The place of its first record among the pending ones.
    let place: Int
    let start: JournalPosition
    let end: JournalPosition
  }

  /// The length of the largest change with its reserve: a crash leaves no more than that.
  ///
  /// A sparse file of terabytes must not keep a reader busy for hours.
  static let maximumRemainsByteCount =
    SealedFileStore.maximumChangeByteCount + JournalReserve.maximumByteCount

  private let file: OpenFile
  private let opener: RecordOpener
  private let fileByteCount: Int
  private var pending = PendingRecords()
  private var changes: [Change] = []
  /// The starts of the records that the walk passed.
  private var passed: Set<Int> = []
  private let start: JournalPosition

  /// The bytes of the last change that counts, as they were verified.
  private(set) var lastChange: (offset: Int, bytes: ByteBuffer)?
  /// The end of the last byte that is not zero.
  private(set) var remainsEnd = 0
  /// The start of a record that opens and that no interrupted write leaves.
  private(set) var damageOffset: Int?

  /// - Parameters:
  ///   - view: The journal up to its mark.
  ///   - fileByteCount: The number of bytes of the file to look at.
  ///   - keys: The store's keys.
  /// - Throws: `io`.
  init(
    behind view: JournalView, fileByteCount: Int, keys: KeyRing
  ) throws(StoreError) {
    file = view.file
    self.fileByteCount = fileByteCount
    opener = RecordOpener(journal: view.head.journal, keys: keys)
    start = view.end
    try walk(keys)
    try dropTornChange()
    try examineRemains()
  }

  /// The end of the part that counts.
  var end: JournalPosition { changes.last?.end ?? start }

  /// The ends of the changes that count.
  var changeEnds: [JournalPosition] { changes.map(\.end) }

  /// Whether a change counts.
  var hasChanges: Bool { !changes.isEmpty }

  /// Adds the changes that count to the journal.
  func append(to view: JournalView) {
    for (position, change) in changes.enumerated() {
      let next = position + 1 < changes.count ? changes[position + 1].place : pending.records.count
      view.append(pending.records[change.place..<next], to: change.end)
    }
  }

  /// The number of bytes behind the end that must be dropped.
  var remainsByteCount: Int { remainsEnd - end.byteCount }

  /// Whether there are only zeros.
  var isVacant: Bool { changes.isEmpty && remainsByteCount == 0 }

  private mutating func walk(_ keys: KeyRing) throws(StoreError) {
    var walker = JournalWalker(
      file, fileByteCount: fileByteCount, from: start.record, keys: keys)
    var (place, changeStart) = (0, start)
    while true {
      let offset = walker.position.byteCount
      let isInChange = pending.records.count > place
      guard let prefix = try walker.next(), prefix.kind.contains(.first) != isInChange else {
        break
      }
      pending.append(prefix, at: offset)
      passed.insert(offset)
      guard prefix.kind.contains(.last) else { continue }
      let changeEnd = JournalPosition(
        record: walker.position, version: changeStart.version &+ 1)
      changes.append(Change(place: place, start: changeStart, end: changeEnd))
      (place, changeStart) = (pending.records.count, changeEnd)
    }
    pending.drop(from: place)
  }

  /// Drops the last whole change if one of its records does not open.
  ///
  /// A power cut may have kept the two ends of a record's part, which are all that the chain
  /// covers, and lost sectors between them. The changes before this one were synced before it was
  /// written.
  private mutating func dropTornChange() throws(StoreError) {
    guard let last = changes.last else { return }
    let bytes = ByteBuffer(byteCount: last.end.byteCount - last.start.byteCount)
    let count = try file.read(at: last.start.byteCount, into: bytes, 0..<bytes.byteCount)
    if count == bytes.byteCount, opens(last, bytes) {
      lastChange = (last.start.byteCount, bytes)
    } else {
      // The one before it was synced before this one was written.
      pending.drop(from: last.place)
      changes.removeLast()
    }
  }

  private func opens(_ change: Change, _ bytes: ByteBuffer) -> Bool {
    pending.records[change.place...].allSatisfy { entry, _ in
      let offset = Int(entry.offset) - change.start.byteCount
      // A copy is opened, because the bytes that were read will be written again.
      let copy = ByteBuffer(byteCount: entry.recordByteCount, isSecret: true)
      copy.copy(bytes, offset..<offset + entry.recordByteCount, to: 0)
      let associatedData = RecordOpener.associatedData()
      guard let record = opener.open(copy, at: 0, .both, with: associatedData) else { return false }
      return opener.tag(of: record) == entry.tag
    }
  }

  /// Searches the remains for damage: a crash leaves only one change, at the end of what counts.
  private mutating func examineRemains() throws(StoreError) {
    let behind = min(end.byteCount, fileByteCount)..<fileByteCount
    if behind.count > Self.maximumRemainsByteCount {
      (remainsEnd, damageOffset) = (behind.upperBound, behind.lowerBound)
      return
    }
    remainsEnd = try file.startOfTrailingZeros(in: behind)
    damageOffset = try startOfAnotherChange()
  }

  private func startOfAnotherChange() throws(StoreError) -> Int? {
    let last = min(remainsEnd, fileByteCount - RecordLengths.minimumRecordByteCount)
    guard end.byteCount <= last else { return nil }
    var window = JournalWindow(file, spanning: fileByteCount - end.byteCount)
    var budget = TrialBudget()
    var start = end.byteCount
    while start <= last,
      let offset = try window.offset(of: start..<start + RecordPrefix.byteCount)
    {
      let inWindow = min(window.byteCount(from: start) - RecordPrefix.byteCount, last - start)
      var step = 0
      while step <= inWindow {
        // Nearly every offset fails here: a sealed name is short, so two bytes of its length are 0.
        let word = window.buffer.load(UInt32.self, at: offset + step)
        if word == 0, window.skippableByteCount(from: start + step) > 0 {
          step += window.skippableByteCount(from: start + step)
          continue
        }
        if word >> 16 == 0, let byteCount = candidate(window.buffer, offset + step, start + step) {
          // The budget is used up: this is called damage, to be careful.
          guard budget.take(byteCount) else { return start + step }
          if try opens(at: start + step) { return start + step }
        }
        step += 1
      }
      start += step
      budget.add(searched: step)
    }
    return nil
  }

  /// Returns the length of the bytes here if they look like the first record of any change, also of
  /// an older one, which would be a replay.
  private func candidate(_ buffer: ByteBuffer, _ offset: Int, _ start: Int) -> Int? {
    guard let lengths = RecordLengths(buffer, at: offset),
      start + lengths.record <= fileByteCount, !passed.contains(start),
      let prefix = RecordPrefix(buffer, at: offset, maskKey: opener.keys.maskKey),
      prefix.kind.contains(.first)
    else { return nil }
    return lengths.record
  }

  private func opens(at start: Int) throws(StoreError) -> Bool {
    try opener.read(from: file, at: start, fileByteCount: fileByteCount, .both) != nil
  }
}
