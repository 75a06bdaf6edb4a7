import SessionToolsBase

/// Walks the records of a journal and checks the chain.
///
/// Nothing is decrypted.
struct JournalWalker {
  private var window: JournalWindow
  private var chain: RecordChain
  /// Bytes behind this one do not count: the file may grow meanwhile.
  let fileByteCount: Int

  init(
    _ file: OpenFile, fileByteCount: Int, from position: JournalPosition, chainKey: KeyBytes
  ) {
    window = JournalWindow(
      walking: file, from: position.byteCount, spanning: fileByteCount - position.byteCount)
    self.fileByteCount = fileByteCount
    chain = RecordChain(after: position, chainKey: chainKey)
  }

  /// The end of what was walked.
  var position: JournalPosition { chain.position }

  /// The next record, when it is whole and chained to the one before; `nil` at the end or at
  /// a break, where ``position`` stays.
  ///
  /// - Throws: `io`.
  mutating func next() throws(StoreError) -> RecordPrefix? {
    let start = position.byteCount
    guard start + RecordPrefix.byteCount <= fileByteCount,
      let offset = try window.offset(of: start..<start + RecordPrefix.byteCount),
      let prefix = RecordPrefix(window.buffer, at: offset),
      prefix.number == position.number + 1,
      start + prefix.recordByteCount <= fileByteCount
    else { return nil }
    chain.begin(window.buffer, at: offset)

    let end = start + prefix.recordByteCount
    guard let tag = try window.offset(of: end - Sodium.tagByteCount..<end),
      chain.value(window.buffer, tagOffset: tag) == prefix.chain
    else { return nil }
    chain.advance(prefix.recordByteCount, number: prefix.number, chain: prefix.chain)
    return prefix
  }
}
