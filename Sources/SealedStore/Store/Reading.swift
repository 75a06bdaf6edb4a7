public import SessionToolsBase

extension SealedFileStore {
  /// Reads one value; `nil` when there is no such item.
  ///
  /// One look at the directory, one read of the file; blocks no longer than those take.
  ///
  /// - Throws: `locked`, `corrupt` when the item's record, or a part of the journal that could
  ///   hold it, was changed, `accessDenied` or `io`.
  public func value(for key: StoreKey) throws(StoreError) -> SecretBytes? {
    let canonicalKey = ByteBuffer(byteCount: key.canonicalByteCount)
    key.storeCanonical(in: canonicalKey, at: 0)
    guard let found = try find(canonicalKey, keepingKeys: true) else { return nil }
    defer { found.opener.keys.endUse() }

    let entry = found.entry
    guard
      let record = try found.opener.read(
        from: found.file, at: Int(entry.offset), byteCount: entry.recordByteCount),
      record.prefix.tag == entry.tag,
      UInt32(truncatingIfNeeded: record.prefix.number) == entry.numberLow,
      record.isRecord(of: canonicalKey)
    else { throw changedRecord(entry, of: key) }
    return record.value
  }

  /// Whether there is an item, from the index alone.
  ///
  /// - Throws: `locked`, `corrupt`, `accessDenied` or `io`.
  public func contains(_ key: StoreKey) throws(StoreError) -> Bool {
    let canonicalKey = ByteBuffer(byteCount: key.canonicalByteCount)
    key.storeCanonical(in: canonicalKey, at: 0)
    return try find(canonicalKey, keepingKeys: false) != nil
  }

  /// The keys of one namespace, or of all, in ascending order.
  ///
  /// Names are sealed with their values, so every item is read and opened. Up to 10,000 names
  /// are kept in memory then, until the store is changed or locked: to list them again is one look
  /// at the journal, and opens nothing.
  ///
  /// - Throws: `locked`, `corrupt` when anything that could be an item was changed,
  ///   `accessDenied` or `io`.
  public func keys(in namespace: Namespace?) throws(StoreError) -> [StoreKey] {
    try keys(in: namespace, progress: nil)
  }

  /// The keys of one namespace, or of all, in ascending order, telling how far it is.
  ///
  /// - Throws: As ``keys(in:)-(Namespace?)``.
  public func keys(
    in namespace: Namespace?, progress: StoreProgress?
  ) throws(StoreError) -> [StoreKey] {
    let (known, itemCount) = try withState { open throws(StoreError) in
      try open.refresh(from: loader)
      let view = try open.soundJournal(path: path)
      return (view.sortedKeys, view.index.count)
    }
    guard itemCount <= Self.largestKeptKeyCount else {
      return try readKeys(in: namespace, progress: progress).keys
    }
    let keys = if let known { known } else { try readAllKeys(progress: progress) }
    return namespace == nil ? keys : keys.filter { $0.namespace == namespace }
  }

  /// Ordinary names of so many items take about 2 MB.
  private static var largestKeptKeyCount: Int { 10_000 }

  /// Reads all keys, and keeps them if they are few.
  ///
  /// - Throws: As ``keys(in:)-(Namespace?)``.
  func readAllKeys(progress: StoreProgress?) throws(StoreError) -> [StoreKey] {
    let (keys, mark) = try readKeys(in: nil, progress: progress)
    guard keys.count <= Self.largestKeptKeyCount else { return keys }
    withStateIfOpen { open in
      guard case .usable(let view) = open.journal, view.mark == mark else { return }
      view.sortedKeys = keys
    }
    return keys
  }

  private func readKeys(
    in namespace: Namespace?, progress: StoreProgress?
  ) throws(StoreError) -> (keys: [StoreKey], asOf: Mark) {
    var keys: [StoreKey] = []
    var reader = CanonicalKeyReader()
    let mark = try forEachItem(progress: progress) { record, entry throws(StoreError) in
      guard let key = record.key(by: &reader) else {
        throw corruptRecord(entry.offset, "its key is none")
      }
      if namespace == nil || key.namespace == namespace { keys.append(key) }
    }
    return (keys.sorted(), mark)
  }

  /// Calls a closure with the newest record of every item, in the order of the journal.
  ///
  /// - Returns: How far the journal went whose items these were.
  /// - Throws: `locked`, `corrupt`, `accessDenied`, `io`, or what the closure throws.
  @discardableResult
  func forEachItem(
    progress: StoreProgress?,
    _ body: (RecordOpener.OpenRecord, ItemIndex.Entry) throws(StoreError) -> Void
  ) throws(StoreError) -> Mark {
    let (file, mark, keys, entries) = try withState { open throws(StoreError) in
      try open.refresh(from: loader)
      let view = try open.soundJournal(path: path)
      open.keys.beginUse()
      return (view.file, view.mark, open.keys, view.index.entries)
    }
    defer { keys.endUse() }
    try ItemReader(file, journal: mark.journal, keys: keys).forEach(
      entries, progress: progress, failure: { corruptRecord($0.offset, "it was changed") }, body)
    return mark
  }

  private struct FoundItem {
    let file: OpenFile
    let opener: RecordOpener
    let entry: ItemIndex.Entry
  }

  private func find(
    _ canonicalKey: ByteBuffer, keepingKeys: Bool
  ) throws(StoreError) -> FoundItem? {
    try withState { open throws(StoreError) in
      try open.refresh(from: loader)
      let view = try open.usableJournal()
      let tag = ItemTag(
        bytes: Sodium.hash16(
          canonicalKey, 0..<canonicalKey.byteCount, key: open.keys.nameKey))
      let entry = view.index[tag]
      if let damage = view.damage {
        // Only an item whose newest record is known for sure is given out of a damaged journal.
        guard entry != nil, let behind = damage.tagsBehind, !behind.contains(tag) else {
          throw damage.error(path: directory.pathOfFile(StoreFile.journal))
        }
      }
      guard let entry else { return nil }
      if keepingKeys { open.keys.beginUse() }
      return FoundItem(
        file: view.file, opener: RecordOpener(journal: view.head.journal, keys: open.keys),
        entry: entry)
    }
  }

  private func changedRecord(_ entry: ItemIndex.Entry, of key: StoreKey) -> StoreError {
    corruptRecord(entry.offset, "the item \(key) was changed")
  }

  func corruptRecord(_ offset: UInt64, _ reason: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: directory.pathOfFile(StoreFile.journal),
      reason: "the record at byte \(offset) cannot be opened: \(reason)",
      remedy: "Make a copy of the store's directory, then run session-tools verify and repair")
  }
}
