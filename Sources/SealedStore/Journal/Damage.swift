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
