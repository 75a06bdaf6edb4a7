import SessionToolsBase

/// What stands between a break in a journal and its mark.
struct BrokenPart {
  let view: JournalView
  let journalBreak: JournalView.Break
  let mark: Mark
  let keys: KeyRing

  /// The items in it, when nothing but chain values was hit: whole records with consecutive numbers
  /// reach to the mark in whole changes, every one opens, and the chain, computed again, meets the
  /// mark.
  ///
  /// Behind the mark, whatever is not zero could be newer: the mark may be old after a power cut.
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
