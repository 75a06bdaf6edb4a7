import SessionToolsBase

/// Writes a new journal, sealing every record anew: a journal has an identifier of its own,
/// and each record is bound to it.
struct JournalRewriter {
  private static let bufferByteCount = 1 << 20

  let head: JournalHead
  private let keys: KeyRing
  private let file: OpenFile
  private var sealer: RecordSealer
  /// Records that are sealed and not written yet.
  ///
  /// Wiped, because plaintext stands in it for a moment.
  private var buffer = ByteBuffer(byteCount: bufferByteCount, isSecret: true)
  private var filledByteCount = 0
  private var writtenByteCount = JournalHead.byteCount
  private var entries: [ItemIndex.Entry] = []

  /// Begins a journal in a new file.
  ///
  /// - Throws: `noSpace` or `io`.
  init(
    _ file: OpenFile, journal: JournalIdentifier, store: StoreIdentifier, keys: KeyRing,
    random: any RandomSource
  ) throws(StoreError) {
    head = JournalHead(store: store, journal: journal, chainKey: keys.chainKey)
    let start = JournalPosition(byteCount: JournalHead.byteCount, number: 0, chain: head.chain)
    sealer = RecordSealer(
      .max, journal: head.journal, position: start, keys: keys,
      memory: SealingMemory(random: random))
    self.file = file
    self.keys = keys
    try file.write(head.encoded(), 0..<JournalHead.byteCount, at: 0)
  }

  /// Adds an open record as a change of its own: if one is damaged later, the others stay whole.
  ///
  /// - Throws: `noSpace` or `io`.
  mutating func add(_ record: RecordOpener.OpenRecord) throws(StoreError) {
    let byteCount = record.prefix.recordByteCount
    if filledByteCount + byteCount > buffer.byteCount {
      try flush()
      if byteCount > buffer.byteCount {
        buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
      }
    }
    record.copyPlaintext(
      to: buffer, at: filledByteCount + RecordPrefix.byteCount + Sodium.nonceByteCount)
    let entry = sealer.seal(
      buffer, at: filledByteCount, sealedByteCount: record.prefix.sealedByteCount,
      flags: [.first, .last], tag: record.tag(nameKey: keys.nameKey))
    entries.append(entry)
    filledByteCount += byteCount
  }

  /// Ends the journal and makes its file durable, under the name it was made with.
  ///
  /// - Returns: What a reader of the journal would know.
  /// - Throws: `noSpace` or `io`.
  mutating func finish() throws(StoreError) -> JournalView {
    try flush()
    try file.synchronize()
    let view = JournalView(file, identity: try file.status(), head: head)
    view.reserve(entries.count)
    for entry in entries {
      view.apply(entry, isRemoved: false)
    }
    view.end = sealer.position
    view.fileByteCount = view.end.byteCount
    view.confirmedByteCount = view.end.byteCount
    return view
  }

  private mutating func flush() throws(StoreError) {
    try file.write(buffer, 0..<filledByteCount, at: writtenByteCount)
    writtenByteCount += filledByteCount
    filledByteCount = 0
  }
}
