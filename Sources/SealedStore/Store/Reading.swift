package import Foundation
public import SecretStores

extension SealedFileStore {
  /// Reads one value; `nil` when there is no such item.
  ///
  /// This takes one look at the mark and one read of the journal. Records of up to 4 KiB in a store
  /// of up to 256 items are kept in memory, sealed as they are: reading one again takes one look at
  /// the mark.
  ///
  /// It blocks for as long as that takes. Changes by other programs are read first. If a program
  /// was interrupted while it wrote, its change is recovered first, which may wait for another
  /// program for up to ``Options/lockTimeout``.
  ///
  /// - Throws: `locked`, `corrupt` when the item's record, or a part of the journal that could
  ///   hold it, was changed, `wrongKey` when another program revoked this one's key, `timedOut`,
  ///   `unavailable` when the store's directory is gone or its anchor cannot be read,
  ///   `unsafePermissions`, `accessDenied` or `io`.
  public func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    guard let found = try find(name, keepingKeys: true) else { return nil }
    return try value(of: found, for: name)
  }

  /// Reads one value for a writer, from the journal as it was prepared: others change nothing.
  ///
  /// - Throws: `locked`, `corrupt` or `io`.
  func preparedValue(for name: ItemName) throws(StoreError) -> SecretBytes? {
    let found = try withState { open throws(StoreError) in
      try find(name, in: &open, keepingKeys: true)
    }
    return try found.map { found throws(StoreError) in try value(of: found, for: name) }
  }

  @inline(__always)
  private func value(
    of found: FoundItem, for name: ItemName
  ) throws(StoreError) -> SecretBytes {
    defer { found.keys.endUse() }
    let value =
      if let record = found.record {
        record.valueAgain(found.keys)
      } else {
        try read(found)
      }
    guard let value else {
      throw corruptRecord(found.entry.offset, "the item \(name) was changed")
    }
    return value
  }

  /// Reads a record and opens its value; `nil` when the record is not that of the entry.
  private func read(_ found: FoundItem) throws(StoreError) -> SecretBytes? {
    let (view, entry) = (found.view, found.entry)
    guard
      let record = try SealedRecord(
        of: entry, in: view.head.journal, view.file, isKept: found.isToBeKept),
      let value = record.value(of: entry, found.keys)
    else { return nil }
    if found.isToBeKept { withStateIfOpen { _ in view.keep(record, of: entry) } }
    return value
  }

  /// Returns whether there is an item, from the index alone.
  ///
  /// - Throws: As ``value(for:)``, and blocks as that does.
  public func contains(_ name: ItemName) throws(StoreError) -> Bool {
    try find(name, keepingKeys: false) != nil
  }

  /// Returns the names of one namespace, or of all, in ascending order.
  ///
  /// Names are sealed apart from values, and no value is opened. Up to 10,000 names are then kept
  /// in memory until the store is changed or locked: listing them again takes one look at the mark.
  ///
  /// - Throws: As ``value(for:)``, and blocks as that does; `corrupt` also when anything that could
  ///   be an item was changed.
  public func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try names(in: namespace, progress: nil)
  }

  /// Returns the names of one namespace, or of all, in ascending order, and reports progress.
  ///
  /// - Throws: As ``names(in:)-(StoreNamespace?)``.
  public func names(
    in namespace: StoreNamespace?, progress: Progress?
  ) throws(StoreError) -> [ItemName] {
    let (known, itemCount) = try withCurrentState { open throws(StoreError) in
      let view = try open.soundJournal(in: directory)
      return (view.sortedNames, view.index.count)
    }
    guard itemCount <= Self.maximumKeptNameCount else {
      return try readNames(in: namespace, progress: progress).names
    }
    let names = if let known { known } else { try readAllNames(progress: progress) }
    return namespace == nil ? names : names.filter { $0.namespace == namespace }
  }

  /// The largest number of names that are kept: so many ordinary names take about 2 MB.
  private static var maximumKeptNameCount: Int { 10_000 }

  /// Reads all names, and keeps them if they are few.
  ///
  /// - Throws: As ``names(in:)-(StoreNamespace?)``.
  func readAllNames(progress: Progress?) throws(StoreError) -> [ItemName] {
    let (names, mark) = try readNames(in: nil, progress: progress)
    guard names.count <= Self.maximumKeptNameCount else { return names }
    withStateIfOpen { open in
      guard case .usable(let view) = open.journal, view.mark == mark else { return }
      view.sortedNames = names
    }
    return names
  }

  private func readNames(
    in namespace: StoreNamespace?, progress: Progress?
  ) throws(StoreError) -> (names: [ItemName], asOf: Mark) {
    let (file, mark, ring, entries) = try withCurrentState { open throws(StoreError) in
      let view = try open.soundJournal(in: directory)
      open.keys.beginUse()
      return (view.file, view.mark, open.keys, view.index.entries)
    }
    defer { ring.endUse() }
    let sorted = entries.sorted { $0.offset < $1.offset }
    var steps = ProgressSteps(progress, total: sorted.count, step: 1024)
    var names: [ItemName] = []
    names.reserveCapacity(namespace == nil ? sorted.count : 0)
    var isAscending = true
    for start in stride(from: 0, to: sorted.count, by: Self.namesInPiece) {
      steps.reached(start)
      let some = sorted[start..<min(start + Self.namesInPiece, sorted.count)]
      let piece = try readNames(of: some, in: namespace, of: mark.journal, file, ring)
      if let last = names.last, let first = piece.first, first < last { isAscending = false }
      names += piece
    }
    steps.finish()
    if !isAscending { names.sort() }
    return (names, mark)
  }

  /// The number of names that are opened at a time.
  private static var namesInPiece: Int { 1024 }

  /// Reads the names of some items, in ascending order.
  func readNames(
    of entries: ArraySlice<ItemIndex.Entry>, in namespace: StoreNamespace?,
    of journal: JournalIdentifier, _ file: OpenFile, _ ring: KeyRing
  ) throws(StoreError) -> [ItemName] {
    var names: [ItemName] = []
    names.reserveCapacity(namespace == nil ? entries.count : 0)
    var nameReader = CanonicalNameReader()
    try ItemReader(file, journal: journal, keys: ring, .nameOfKnownKind).forEach(
      entries, progress: nil, failure: { corruptRecord($0.offset, "it was changed") }
    ) { record, entry throws(StoreError) in
      guard let name = record.name(by: &nameReader) else {
        throw corruptRecord(entry.offset, "its name is not valid")
      }
      if namespace == nil || name.namespace == namespace { names.append(name) }
    }
    // In the end, pieces that are in order only need to be merged.
    names.sortUnlessAscending()
    return names
  }

  /// Returns when the items were put last, by the clock of the machine that did.
  ///
  /// Items that version 0.3.0 put are not among them: it kept no times.
  ///
  /// - Throws: As ``names(in:)-(StoreNamespace?)``.
  package func timesOfChange() throws(StoreError) -> [ItemName: Date] {
    let (file, journal, ring, entries) = try withCurrentState { open throws(StoreError) in
      let view = try open.soundJournal(in: directory)
      open.keys.beginUse()
      return (view.file, view.head.journal, open.keys, view.index.entries)
    }
    defer { ring.endUse() }
    var times: [ItemName: Date] = [:]
    var nameReader = CanonicalNameReader()
    let reader = ItemReader(file, journal: journal, keys: ring, .nameOfKnownKind)
    try reader.forEach(
      entries, progress: nil, failure: { corruptRecord($0.offset, "it was changed") }
    ) { record, entry throws(StoreError) in
      guard let name = record.name(by: &nameReader) else {
        throw corruptRecord(entry.offset, "its name is not valid")
      }
      times[name] = reader.time(of: record)?.date
    }
    return times
  }

  private struct FoundItem: Sendable {
    let view: JournalView
    let keys: KeyRing
    let entry: ItemIndex.Entry
    /// The record, if it is in memory.
    let record: SealedRecord?
    let isToBeKept: Bool
  }

  @inline(__always)
  private func find(_ name: ItemName, keepingKeys: Bool) throws(StoreError) -> FoundItem? {
    try withCurrentState { open throws(StoreError) in
      try find(name, in: &open, keepingKeys: keepingKeys)
    }
  }

  @inline(__always)
  private func find(
    _ name: ItemName, in open: inout OpenState, keepingKeys: Bool
  ) throws(StoreError) -> FoundItem? {
    let view = try open.usableJournal()
    let tag = view.tag(of: name, open.keys)
    let entry = view.entry(of: tag)
    if view.isDamaged, let damage = view.damage {
      // A damaged journal returns only items whose newest record is certain.
      guard entry != nil, let behind = damage.tagsBehind, !behind.contains(tag) else {
        throw damage.error(in: directory)
      }
    }
    guard let entry else { return nil }
    if keepingKeys { open.keys.beginUse() }
    return FoundItem(
      view: view, keys: open.keys, entry: entry, record: view.keptRecord(of: entry),
      isToBeKept: view.keepsRecords)
  }

  func corruptRecord(_ offset: UInt64, _ reason: String) -> StoreError {
    StoreError(
      .corrupt, store: directory.pathOfFile(StoreFile.journal),
      reason: "the record at byte \(offset) cannot be opened: \(reason)",
      remedy: "Make a copy of the store's directory, then run session-tools verify and repair")
  }
}
