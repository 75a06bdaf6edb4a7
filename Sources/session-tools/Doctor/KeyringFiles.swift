import Foundation
import SessionToolsBase
import ToolBase

/// The files of gnome-keyring's collections: whether their secrets are plain text, and why one may
/// not be loaded.
///
/// Source: gnome-keyring's pkcs11/secret-store/gkm-secret-textual.c: a keyring without a password
/// is a key file of GLib, in which a value with several lines is not escaped.
struct KeyringFiles {
  /// A keyring without a password.
  struct PlainFile {
    let path: String
    /// The collection's name, as the file `default` has it.
    let name: String
    /// The lines that are not of its format; with one, gnome-keyring does not load the file.
    let strayLines: [Int]

    var howToRepair: String {
      let script = strayLines.map { "\($0)s/^/#/" }.joined(separator: "; ")
      return "sed -i.bak '\(script)' \(path.shellQuoted) && \(KeyringFiles.restart)"
    }
  }

  /// A larger file is not looked at further; gnome-keyring reads it as a whole.
  private static let largestByteCount = 16 << 20
  private static let restart = "gnome-keyring-daemon --replace --daemonize --components=secrets"

  let plain: [PlainFile]
  /// The name of the collection that is the default; `nil` if the file is not there.
  private let defaultName: String?
  private let names: Set<String>

  /// Looks at the files of this user; one that cannot be read is not gnome-keyring's either.
  init() {
    // The machine's checks report a home directory that cannot be found.
    let directory = (try? UserDirectory.data.path).map { "\($0)/keyrings" } ?? ""
    let files = directory.isEmpty ? [] : Files.names(in: directory).sorted()
    let suffix = ".keyring"
    names = Set(files.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) })
    plain = files.filter { $0.hasSuffix(suffix) }.compactMap { name in
      Self.plainFile("\(directory)/\(name)", name: String(name.dropLast(suffix.count)))
    }
    let text = try? String(contentsOfFile: "\(directory)/default", encoding: .utf8)
    defaultName = text?.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func plainFile(_ path: String, name: String) -> PlainFile? {
    guard let content = try? Files.read(path, atMost: largestByteCount) else { return nil }
    let lines = content.copyBytes().split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.first?.starts(with: Array("[keyring]".utf8)) == true else { return nil }
    let stray = lines.enumerated().filter { !isOfKeyFile($1) }.map { $0.offset + 1 }
    return PlainFile(path: path, name: name, strayLines: stray)
  }

  /// Whether a line is empty, a comment, a group or a key with a value.
  private static func isOfKeyFile(_ line: ArraySlice<UInt8>) -> Bool {
    guard let first = line.first(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") })
    else { return true }
    return first == UInt8(ascii: "#") || first == UInt8(ascii: "[")
      || (first != UInt8(ascii: "=") && line.contains(UInt8(ascii: "=")))
  }

  /// The file of the default collection, if gnome-keyring does not load it.
  var rejectedDefault: PlainFile? {
    plain.first { $0.name == defaultName && !$0.strayLines.isEmpty }
  }

  /// What makes a default collection.
  var howToMakeDefault: String {
    let make =
      "gnome-keyring-daemon --replace --unlock --daemonize --components=secrets, which reads a "
      + "password from standard input"
    guard let defaultName, !names.contains(defaultName) else { return "seahorse, or \(make)" }
    // The collection that this makes is not the one that the file names.
    let service = "/org/freedesktop/secrets"
    return "seahorse, or \(make); then gdbus call --session --dest org.freedesktop.secrets "
      + "--object-path \(service) --method org.freedesktop.Secret.Service.SetAlias default "
      + "\(service)/collection/login"
  }

  var checks: [Check] {
    plain.flatMap { file in
      [
        .problem(
          "keyring", "\(file.path) has no password: its secrets are plain text",
          remedy: "seahorse, and give the keyring a password", .failure)
      ] + (file.strayLines.isEmpty ? [] : [rejection(of: file)])
    }
  }

  private func rejection(of file: PlainFile) -> Check {
    let lines = file.strayLines
    let which =
      lines.count == 1 ? "line \(lines[0]) is" : "\(lines.count) lines, from \(lines[0]) on, are"
    return .problem(
      "keyring",
      "gnome-keyring does not load \(file.path)"
        + (file.name == defaultName ? ", which is named as the default" : "")
        + ": \(which) not of its format, as when a program stored a value of several lines; the "
        + "items are still in the file",
      remedy: file.howToRepair, .unavailable)
  }
}
