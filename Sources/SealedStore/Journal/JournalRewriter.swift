import SecretStores

/// A writer of a new journal in one change, for which every record is sealed again.
///
/// A journal has an identifier of its own, and each record is bound to it. All records are one
/// change, because a journal that could be cut between items would show states that never existed.
struct JournalRewriter {
  private static let bufferByteCount = 1 << 20

  let head: JournalHead
  private let keys: KeyRing
  private let file: OpenFile
  private let count: Int
  private var sealer: RecordSealer
  /// The records that are sealed but not written yet.
  ///
  /// The buffer is wiped, because it holds plaintext for a moment.
  private var buffer = ByteBuffer(byteCount: bufferByteCount, isSecret: true)
  private var filledByteCount = 0
  private var writtenByteCount = JournalHead.byteCount
  private var entries: [PendingRecords.Element] = []

  /// Begins a journal in a new file.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - head: The head of the journal.
  ///   - count: The number of items that will be added.
  ///   - keys: The keys that seal them.
  ///   - random: The source of nonces.
  /// - Throws: `noSpace` or `io`.
  init(
    _ file: OpenFile, head: JournalHead, count: Int, keys: KeyRing, random: any RandomSource
  ) throws(StoreError) {
    self.file = file
    self.head = head
    self.count = count
    self.keys = keys
    sealer = RecordSealer(
      .max, journal: head.journal, position: head.start.record, keys: keys,
      memory: SealingMemory(random: random))
    entries.reserveCapacity(count)
    try file.write(head.encoded(), 0..<JournalHead.byteCount, at: 0)
  }

  /// Adds an open record, with the time at which its item was put.
  ///
  /// - Throws: `noSpace` or `io`.
  mutating func add(
    _ record: RecordOpener.OpenRecord, _ time: RecordTime?
  ) throws(StoreError) {
    let lengths = record.prefix.lengths
    let place = try place(for: lengths.record)
    // Copy both parts with their padding; the old tags are overwritten.
    let parts = record.offset + RecordPrefix.byteCount..<record.offset + lengths.record
    buffer.copy(record.buffer, parts, to: place + RecordPrefix.byteCount)
    // The tag in the old prefix is not used: a rotation has another key for tags.
    let tag = ItemTag(of: record.buffer, record.canonicalName, tagKey: keys.tagKey)
    let entry = sealer.seal(
      buffer, at: place, lengths, kind: nextKind, tag: tag, time: time)
    entries.append((entry, false))
  }

  /// Adds a value under a name of its own.
  ///
  /// - Throws: `noSpace` or `io`.
  mutating func add(
    _ value: SecretBytes, for name: ItemName, _ time: RecordTime?
  ) throws(StoreError) {
    let record = UnsealedRecord(.put(value, for: name))
    let byteCount = record.lengths.record
    let place = try place(for: byteCount)
    // The padding must be zeros, and the buffer may have been used before.
    buffer.copy([UInt8](repeating: 0, count: byteCount), to: place)
    let entry = record.seal(
      in: buffer, at: place, kind: nextKind, time, &sealer, tagKey: keys.tagKey)
    entries.append((entry, false))
  }

  private var nextKind: RecordKind {
    var kind: RecordKind = entries.isEmpty ? .first : []
    if entries.count + 1 >= count { kind.insert(.last) }
    return kind
  }

  /// Makes room in the buffer for a record of some length, and returns the record's offset.
  private mutating func place(for byteCount: Int) throws(StoreError) -> Int {
    if filledByteCount + byteCount > buffer.byteCount {
      try flush()
      if byteCount > buffer.byteCount {
        buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
      }
    }
    defer { filledByteCount += byteCount }
    return filledByteCount
  }

  /// Ends the journal and makes its file durable, under the name it was made with.
  ///
  /// - Returns: The view that a reader of the journal would have.
  /// - Throws: `noSpace` or `io`.
  mutating func finish() throws(StoreError) -> JournalView {
    precondition(entries.count == count, "as many items as were announced")
    if count == 0 {
      // Without any record, a cut journal could not be distinguished from an empty one.
      let void = UnsealedRecord.void
      let place = try place(for: void.lengths.record)
      let entry = void.seal(
        in: buffer, at: place, kind: [.first, .last], nil, &sealer, tagKey: keys.tagKey)
      entries.append((entry, true))
    }
    try flush()
    try file.synchronize()
    let view = JournalView(file, identity: try file.status(), head: head)
    view.reserve(entries.count)
    view.append(
      entries[...],
      to: JournalPosition(record: sealer.position, version: head.start.version &+ 1))
    return view
  }

  private mutating func flush() throws(StoreError) {
    try file.write(buffer, 0..<filledByteCount, at: writtenByteCount)
    writtenByteCount += filledByteCount
    filledByteCount = 0
  }
}
