import SecretStores

/// The part of a journal between a break and the mark.
struct BrokenPart {
  let view: JournalView
  let journalBreak: JournalView.Break
  let mark: Mark
  let keys: KeyRing

  /// Returns the items in this part if only chain values were damaged; otherwise `nil`.
  ///
  /// That is so if whole records with consecutive numbers reach to the mark in whole changes, each
  /// of them opens, and the chain, computed again, meets the mark. There must be only zeros behind
  /// the mark: other bytes could be newer, since the mark may be old after a power cut.
  ///
  /// - Throws: `io`.
  func tags() throws(StoreError) -> Set<ItemTag>? {
    let (file, end) = (view.file, min(mark.byteCount, view.fileByteCount))
    guard try file.startOfTrailingZeros(in: end..<view.fileByteCount) == end else { return nil }
    let opener = RecordOpener(journal: view.head.journal, keys: keys)
    var tags: Set<ItemTag> = []
    var chain = RecordChain(after: journalBreak.position.record, chainKey: keys.chainKey)
    var (isInChange, version) = (journalBreak.isInChange, journalBreak.position.version)
    while chain.position.byteCount < mark.byteCount {
      guard
        let record = try opener.read(
          from: file, at: chain.position.byteCount, fileByteCount: end, .both),
        record.prefix.number == chain.position.number + 1,
        opener.tag(of: record) == record.prefix.tag,
        record.prefix.kind.contains(.first) != isInChange
      else { return nil }
      tags.insert(record.prefix.tag)
      isInChange = !record.prefix.kind.contains(.last)
      if !isInChange { version &+= 1 }
      chain.append(record.buffer, at: record.offset, record.prefix)
    }
    let position = JournalPosition(record: chain.position, version: version)
    return mark.isMet(by: position) && !isInChange ? tags : nil
  }
}
