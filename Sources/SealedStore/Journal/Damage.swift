import SecretStores

/// Damage for which a store cannot be trusted, and which no crash leaves.
struct Damage: Equatable {
  /// A description of the damage, with its place.
  let reason: String
  /// The items of the records behind the break, if records that still open account for every byte
  /// up to the mark; `nil` when something may be missing.
  let tagsBehind: Set<ItemTag>?
  /// Whether the mark is wrong, and not the journal.
  let isOfMark: Bool

  init(_ reason: String, at offset: Int, tagsBehind: Set<ItemTag>? = nil) {
    self.reason = "\(reason) at byte \(offset)"
    self.tagsBehind = tagsBehind
    isOfMark = false
  }

  private init(ofMark reason: String) {
    self.reason = reason
    tagsBehind = nil
    isOfMark = true
  }

  static let markMissing = Damage(ofMark: "the mark is missing")
  static let markChanged = Damage(ofMark: "the mark was changed")
  static let markOfAnotherJournal = Damage(ofMark: "the mark is that of another journal")
  /// The damage that an anchor detects.
  static let notAnchored = Damage(
    ofMark: "the store is older than its anchor: an earlier state was put back")

  /// Returns the error that reads and writes throw.
  func error(in directory: PrivateDirectory) -> StoreError {
    StoreError(
      .corrupt,
      store: isOfMark ? directory.path : directory.pathOfFile(StoreFile.journal), reason: reason,
      remedy: self == .notAnchored
        ? "Find out who replaced its files, and put the newest copy back"
        : "Make a copy of the store's directory, then run session-tools verify and repair")
  }
}

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
