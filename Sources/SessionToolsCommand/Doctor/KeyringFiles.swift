import Foundation
import SessionToolsBase

/// The files of gnome-keyring's collections: whether their secrets are plain text, and why one may
/// not be loaded.
///
/// Source: GLib's gkeyfile.c, and gnome-keyring's pkcs11/secret-store/gkm-secret-textual.c: a
/// keyring without a password is such a key file, in which a value of several lines is not escaped.
struct KeyringFiles {
  /// A keyring without a password.
  struct PlainFile {
    let path: String
    /// The collection's name, as the file `default` has it.
    let name: String
    /// The lines that are not of its format; with one, gnome-keyring does not load the file.
    let strayLines: [Int]

    var howToRepair: String {
      let script = ranges.map { "\($0)s/^/#/" }.joined(separator: "; ")
      return "sed -i.bak '\(script)' \(path.shellQuoted) && \(KeyringFiles.restart)"
    }

    /// The lines as addresses of sed: a value may have hundreds.
    private var ranges: [String] {
      RangeSet(strayLines.map { $0..<$0 + 1 }).ranges.map { range in
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound),\(range.upperBound - 1)"
      }
    }
  }

  /// A larger file is not looked at further; gnome-keyring reads it as a whole.
  private static let maximumByteCount = 16 << 20
  private static let restart = "gnome-keyring-daemon --replace --daemonize --components=secrets"

  let plain: [PlainFile]
  /// Why files cannot be read: the provider, which runs as this user, cannot read them either.
  private let unreadable: [StoreError]
  /// The name of the collection that is the default; `nil` if the file is not there.
  private let defaultName: String?
  private let names: Set<String>

  /// Looks at the files of this user.
  init() {
    // The machine's checks report a home directory that cannot be found.
    let directory = (try? UserDirectory.data.path).map { "\($0)/keyrings" } ?? ""
    let files = directory.isEmpty ? [] : Files.names(in: directory).sorted()
    let suffix = ".keyring"
    names = Set(files.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) })
    var (plain, unreadable): ([PlainFile], [StoreError]) = ([], [])
    for name in files where name.hasSuffix(suffix) {
      do {
        let path = "\(directory)/\(name)"
        let file = try Self.plainFile(path, name: String(name.dropLast(suffix.count)))
        if let file { plain.append(file) }
      } catch let error as StoreError where error.code == .accessDenied {
        unreadable.append(error)
      } catch {
        // It was removed meanwhile, or is no keyring of this size.
      }
    }
    (self.plain, self.unreadable) = (plain, unreadable)
    let text = try? String(contentsOfFile: "\(directory)/default", encoding: .utf8)
    defaultName = text?.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func plainFile(_ path: String, name: String) throws -> PlainFile? {
    // A pipe would be waited for.
    let status = try? LinuxFileSystem().status(of: path.withoutLinks, in: .workingDirectory)
    guard status?.kind == .regular else { return nil }
    let lines = try Files.read(path, atMost: maximumByteCount).copyBytes().split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.first?.starts(with: Array("[keyring]".utf8)) == true else { return nil }
    let stray = lines.enumerated().filter { !isOfKeyFile($1) }.map { $0.offset + 1 }
    return PlainFile(path: path, name: name, strayLines: stray)
  }

  /// Whether GLib takes a line for an empty one, a comment, a group, or a key with a value.
  private static func isOfKeyFile(_ line: ArraySlice<UInt8>) -> Bool {
    var line = line
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    line = line.drop(while: isSpace)
    guard let first = line.first, first != UInt8(ascii: "#") else { return true }
    if first == UInt8(ascii: "[") { return isGroup(line) }
    guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { return false }
    var key = line[..<equals]
    while let last = key.last, isSpace(last) { key.removeLast() }
    let name = key.prefix { $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") }
    guard let last = name.last, last != UInt8(ascii: " ") else { return false }
    return isLanguage(key[name.endIndex...])
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

  /// Whether a line that begins with a bracket is `[name]`.
  private static func isGroup(_ line: ArraySlice<UInt8>) -> Bool {
    guard let end = line.firstIndex(of: UInt8(ascii: "]")) else { return false }
    let name = line[..<end].dropFirst()
    return !name.isEmpty && line[end...].dropFirst().allSatisfy { $0 == 0x20 || $0 == 0x09 }
      && name.allSatisfy { $0 != UInt8(ascii: "[") && $0 >= 0x20 && $0 != 0x7F }
  }

  /// Whether what follows the name of a key is nothing, or a language in brackets.
  private static func isLanguage(_ text: ArraySlice<UInt8>) -> Bool {
    guard let first = text.first else { return true }
    return text.count >= 2 && first == UInt8(ascii: "[") && text.last == UInt8(ascii: "]")
      && text.dropFirst().dropLast().allSatisfy { byte in
        // Bytes above ASCII are parts of letters.
        byte >= 0x80 || Character(Unicode.Scalar(byte)).isLetter
          || Character(Unicode.Scalar(byte)).isNumber || "-_.@".utf8.contains(byte)
      }
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
    // The collection that this makes is not the one that the file names, and the daemon goes into
    // the background before it has its name on the bus.
    let service = "/org/freedesktop/secrets"
    return
      "seahorse, or \(make); then gdbus wait --session --timeout 30 org.freedesktop.secrets && "
      + "gdbus call --session --dest org.freedesktop.secrets "
      + "--object-path \(service) --method org.freedesktop.Secret.Service.SetAlias default "
      + "\(service)/collection/login"
  }

  var checks: [Check] {
    unreadable.map { .problem("keyring", $0) }
      + plain.flatMap { file in
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
        + "items are still in the file, and the command keeps the further lines as comments",
      remedy: file.howToRepair, .unavailable)
  }
}
