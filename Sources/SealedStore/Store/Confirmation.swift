import SessionToolsBase

/// Keeping how far the journal is confirmed: in the mark beside it, and in the anchor elsewhere.
extension SealedFileStore {
  /// Tells, in the anchor and in the mark, how far the journal is confirmed.
  ///
  /// The mark comes last: so whoever watches it finds in the index, and in the anchor, what it
  /// tells of.
  func tellConfirmed(
    _ mark: Mark, of store: StoreIdentifier, _ keys: KeyRing, _ writer: inout WriterState
  ) {
    saveAnchor(mark, store: store)
    writeMark(mark, chainKey: keys.chainKey, &writer)
  }

  /// Tells how far the journal is confirmed.
  ///
  /// The change before it is durable already, so failing here fails nothing; the mark only
  /// helps to tell an unfinished write from damage.
  func writeMark(_ mark: Mark, chainKey: KeyBytes, _ writer: inout WriterState) {
    do throws(StoreError) {
      try putMark(mark, chainKey: chainKey, &writer)
    } catch {
      options.onNotice?(.markNotWritten)
    }
  }

  /// Tells how far the journal is confirmed, for a journal that is about to take its place.
  ///
  /// - Throws: `noSpace`, `accessDenied`, `io` or `outcomeUnknown`; no item is changed by it.
  func writeDurableMark(
    _ mark: Mark, chainKey: KeyBytes, _ writer: inout WriterState
  ) throws(StoreError) {
    try putMark(mark, chainKey: chainKey, &writer).synchronize()
  }

  /// Keeps elsewhere how far the journal is confirmed.
  ///
  /// The change before it is durable already, so failing here fails nothing.
  private func saveAnchor(_ mark: Mark, store: StoreIdentifier) {
    do throws(StoreError) {
      try options.anchor?.keep(StoreAnchor(store: store, marks: [mark]), path: path)
    } catch {
      options.onNotice?(.anchorNotSaved(error.reason))
    }
  }

  @discardableResult
  private func putMark(
    _ mark: Mark, chainKey: KeyBytes, _ writer: inout WriterState
  ) throws(StoreError) -> OpenFile {
    do throws(StoreError) {
      let file = try markFile(&writer)
      try file.write(mark.encoded(chainKey: chainKey), 0..<Mark.byteCount, at: 0)
      return file
    } catch {
      writer.mark = nil
      throw error
    }
  }

  private func markFile(_ writer: inout WriterState) throws(StoreError) -> OpenFile {
    // Somebody may have removed or replaced the file that is held open.
    if let file = writer.mark, try file.status().linkCount == 1 { return file }
    let file: OpenFile
    if let existing = try directory.open(StoreFile.mark, .readWrite) {
      file = existing
      // A mark of another length is none.
      if try file.status().byteCount > Mark.byteCount { try file.truncate(to: Mark.byteCount) }
    } else {
      file = try directory.create(StoreFile.mark)
      // Or a crash could bring back one that somebody removed, of whatever age.
      try directory.synchronize()
    }
    writer.mark = file
    return file
  }
}
