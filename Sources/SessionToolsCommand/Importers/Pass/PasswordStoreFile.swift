import Glibc
import SecretStores

/// The files in a directory of `pass` that are no entries.
enum PasswordStoreFile {
  /// What `pass`, gopass and git keep there, whatever directory it is in.
  private static let own: Set = [
    ".git", ".gitattributes", ".gitignore", ".gitkeep", ".gitmodules", ".gpg-id", ".gpg-id.sig",
    ".gpg-keys", ".public-keys",
  ]

  /// Whether a name is one that `pass`, gopass or git give their own files.
  static func isOwn(_ name: String, isInRoot: Bool) -> Bool {
    // pass looks for its extensions in one place.
    own.contains(name) || isInRoot && name == ".extensions"
  }

  /// Returns why a file is not an entry, and what to do about it.
  static func reason(forForeign path: String) -> String {
    let suffix = path.split(separator: ".").last.map { $0.lowercased() } ?? ""
    switch suffix {
    case "age": return "it is encrypted with age, and not by gpg; \(ageRemedy)"
    case "gpg": return "pass knows only names that end in .gpg; rename it"
    case "asc", "pgp":
      return "pass knows only names that end in .gpg; rename it if gpg --decrypt opens it"
    default: return "it is not an entry of pass, whose names end in .gpg"
    }
  }

  /// How to migrate an entry that only its own program opens.
  static let ageRemedy =
    "migrate each entry with its own program: passage show NAME | session-tools set STORE "
    + "--service pass NAME, or with gopass show --noparsing NAME"

  /// Returns why something cannot be examined.
  static func reason(forUnknown errno: Int32) -> String {
    let message = CurrentProcess.message(for: errno)
    return [ENOENT, ENOTDIR, ELOOP].contains(errno)
      ? "it is a link that leads to nothing: \(message)" : "it cannot be examined: \(message)"
  }
}

extension String {
  /// The text without some characters at its end, if they are there.
  func withoutSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}
