import SessionToolsBase

/// The last whole change of a journal, when nothing says that it was ever synced.
///
/// A power cut may have kept its first and last sectors, which are all that the chain looks at,
/// and lost some between them.
struct UnconfirmedChange {
  let records: [(entry: ItemIndex.Entry, isRemoved: Bool)]

  /// Where the first of its records is that does not open; `nil` when all do.
  ///
  /// - Throws: `io`.
  func tornRecord(
    in file: OpenFile, journal: JournalIdentifier, keys: KeyRing
  ) throws(StoreError) -> Int? {
    let opener = RecordOpener(journal: journal, keys: keys)
    for (entry, _) in records {
      let start = Int(entry.offset)
      if try opener.read(from: file, at: start, byteCount: entry.recordByteCount) == nil {
        return start
      }
    }
    return nil
  }
}
