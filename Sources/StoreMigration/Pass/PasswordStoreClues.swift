import SessionToolsBase

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

  /// Returns the error of a directory that has something, and no entry.
  func error(store: String, omissions: [Omission]) -> StoreError {
    let example = omissions.first.map { ", such as \($0.name): \($0.reason)" } ?? ""
    if isOfAge {
      return StoreError(
        .undecodable, store: store,
        reason: "this store is encrypted with age, which session-tools does not open",
        remedy: PasswordStoreFile.ageRemedy.prefix(1).uppercased()
          + PasswordStoreFile.ageRemedy.dropFirst())
    }
    let what =
      hasForeignFiles && !isOfPass
      ? "this is not a directory of pass: it has no entry" : "no entry of pass can be read here"
    return StoreError(
      .undecodable, store: store,
      reason: "\(what), and \(omissions.count) other "
        + (omissions.count == 1 ? "file or directory" : "files or directories") + example,
      remedy: hasForeignFiles && !isOfPass ? "Give the directory that pass ls shows" : nil)
  }
}
