import SecretStores

/// What was seen in a directory in which there is no entry of `pass`: what it may be instead.
struct PasswordStoreClues {
  private var isOfPass = false
  private var isOfAge = false
  private var hasForeignFiles = false

  /// Takes note of a file that `pass`, gopass or git keep for themselves.
  mutating func see(ownFile name: String) {
    if name.hasPrefix(".gpg-id") { isOfPass = true }
  }

  /// Takes note of any other file.
  mutating func see(foreignFile path: String) {
    hasForeignFiles = true
    if path.hasSuffix(".age") || path.split(separator: "/").last == ".age-recipients" {
      isOfAge = true
    }
  }

  /// Returns what stands in front of everything in a directory that has something, and no entry.
  func omission(store: String) -> Omission {
    if isOfAge { return Omission(store, reason: "\(Self.age); \(PasswordStoreFile.ageRemedy)") }
    return Omission(
      store, reason: isForeign ? "\(what); give the directory that pass ls shows" : what)
  }

  private var isForeign: Bool { hasForeignFiles && !isOfPass }

  private var what: String {
    isForeign
      ? "this is not a directory of pass: it has no entry" : "no entry of pass can be read here"
  }

  private static let age = "this store is encrypted with age, which session-tools does not open"

  /// Returns the error of a directory that has so much else, and no entry, that it is not listed.
  func error(store: String, omissions: [Omission]) -> StoreError {
    let example = omissions.first.map { ", such as \($0.name): \($0.reason)" } ?? ""
    if isOfAge {
      return StoreError(
        .undecodable, store: store,
        reason: Self.age,
        remedy: PasswordStoreFile.ageRemedy.prefix(1).uppercased()
          + PasswordStoreFile.ageRemedy.dropFirst())
    }
    return StoreError(
      .undecodable, store: store,
      reason: "\(what), and \(omissions.count) other "
        + (omissions.count == 1 ? "file or directory" : "files or directories") + example,
      remedy: isForeign ? "Give the directory that pass ls shows" : nil)
  }
}
