import SessionToolsBase

/// Why a store cannot be trusted: something that no crash leaves.
struct Damage: Equatable {
  /// What was found, and where.
  let reason: String
  /// The items that records behind the break belong to, when every byte up to the mark is accounted
  /// for by records that still open; `nil` when something may be missing.
  let tagsBehind: Set<ItemTag>?
  /// Whether it is the mark that is wrong, and not the journal.
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
  /// What an anchor finds.
  static let notAnchored = Damage(
    ofMark: "the journal is older than the store's anchor: an earlier state was put back")

  /// The error that reads and writes get.
  func error(in directory: PrivateDirectory) -> StoreError {
    StoreError(
      StoreError.corrupt,
      store: isOfMark ? directory.path : directory.pathOfFile(StoreFile.journal), reason: reason,
      remedy: "Make a copy of the store's directory, then run session-tools verify and repair")
  }
}
