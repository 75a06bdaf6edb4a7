import Foundation
package import SecretStores

/// The kind of a file, as its first bytes and the names in it show: looked at before any reader, so
/// that the error about a wrong file says which file it is and what to do with it.
///
/// Nothing of the content is in the texts.
package indirect enum DocumentKind: Hashable, Sendable {
  // What a source reads.
  case keePassXML, keePassCSV, browserCSV, bitwarden, jsonLines, keyringFile, libsecretFile
  case awsCredentials, gitHubHosts, netrc
  // Text of other programs.
  case encryptedBitwarden, bitwardenCSV
  case protonPass, jsonList, otherJSON
  case keePass1XML, html, otherXML
  /// A CSV file that a browser or another password manager writes.
  case csv(of: String)
  case separated(by: Character)
  case otherCSV
  /// Text in another encoding than UTF-8, and what it is.
  case utf16(DocumentKind), utf32(DocumentKind)
  // Files in other formats.
  case empty
  case keePassDatabase, keePass1Database
  case onePassword, bitwardenArchive, zip
  /// A compressed file, and the program that decompresses it to its standard output.
  case compressed(String)
  case openPGP, age, privateKey, sqlite, gnomeKeyring, otherBinary
  /// Text of no kind that is known.
  case text
  /// A store of this library, which is a directory.
  case store

  /// Recognizes a file by its content.
  ///
  /// - Parameter bytes: The entire file, or its beginning.
  package init(of bytes: [UInt8]) {
    self = Self.binary(bytes) ?? Self.text(bytes)
  }

  /// Checks that a file may be of a kind; what cannot be recognized may be.
  ///
  /// - Parameters:
  ///   - wanted: The kind that a source reads.
  ///   - name: The path of the file, or `standard input`.
  /// - Throws: `undecodable`, which says what the file is, and how to read it.
  package func check(is wanted: DocumentKind, name: String) throws(StoreError) {
    guard self != wanted, !isPossibly(wanted) else { return }
    throw StoreError(
      .undecodable, store: name, reason: "this is \(found), not \(wanted.found)",
      remedy: remedy(name, for: wanted))
  }

  /// Returns whether the reader of a kind is to say what is wrong, which it knows with the line.
  private func isPossibly(_ wanted: DocumentKind) -> Bool {
    switch (wanted, self) {
    case (.store, .text), (.store, .otherCSV): false
    case (_, .text), (.keePassXML, .otherXML), (.bitwarden, .otherJSON),
      (.bitwarden, .encryptedBitwarden), (.keePassCSV, .otherCSV), (.browserCSV, .otherCSV),
      (.jsonLines, .otherJSON), (.jsonLines, .empty), (.keyringFile, .empty),
      (.keyringFile, .otherCSV), (.netrc, .otherCSV),
      (.gitHubHosts, .otherCSV):
      true
    case (.bitwarden, .utf16(let kind)):
      // Foundation reads this encoding of JSON.
      [.bitwarden, .encryptedBitwarden, .otherJSON].contains(kind)
    default: false
    }
  }
}

// MARK: Recognizing

extension DocumentKind {
  private static let magicNumbers: [([UInt8], DocumentKind)] = [
    ([0x03, 0xD9, 0xA2, 0x9A, 0x65], .keePass1Database),
    ([0x03, 0xD9, 0xA2, 0x9A], .keePassDatabase),
    ([0x1F, 0x8B], .compressed("gunzip -c")), (Array("BZh".utf8), .compressed("bunzip2 -c")),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], .compressed("unxz -c")),
    ([0x28, 0xB5, 0x2F, 0xFD], .compressed("unzstd -c")),
    (Array("age-encryption.org/".utf8), .age),
    (Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8), .age),
    (Array("-----BEGIN PGP ".utf8), .openPGP), (Array("-----BEGIN ".utf8), .privateKey),
    (Array("SQLite format 3\0".utf8), .sqlite),
  ]

  /// The byte order marks; UTF-32's begins with UTF-16's.
  private static let marks: [([UInt8], String.Encoding)] = [
    ([0xFF, 0xFE, 0, 0], .utf32), ([0, 0, 0xFE, 0xFF], .utf32),
    ([0xFF, 0xFE], .utf16), ([0xFE, 0xFF], .utf16),
  ]

  private static func text(_ bytes: [UInt8], in encoding: String.Encoding) -> DocumentKind {
    let text = String(data: Data(bytes), encoding: encoding) ?? ""
    let kind = Self.text(Array(text.utf8.drop { $0 == 0 }))
    return encoding == .utf32 ? .utf32(kind) : .utf16(kind)
  }

  private static func binary(_ bytes: [UInt8]) -> DocumentKind? {
    if bytes.starts(with: "PK\u{3}\u{4}".utf8) || bytes.starts(with: "PK\u{5}\u{6}".utf8) {
      return zip(bytes)
    }
    if bytes.starts(with: "GnomeKeyring\n\r\0\n".utf8) {
      // The major version: libsecret's file has 1, gnome-keyring's own has 0.
      return bytes.dropFirst(16).first == 1 ? .libsecretFile : .gnomeKeyring
    }
    if let mark = marks.first(where: { bytes.starts(with: $0.0) }) {
      return text(bytes, in: mark.1)
    }
    if let known = magicNumbers.first(where: { bytes.starts(with: $0.0) }) { return known.1 }
    // The packets for a key to a message begin with one of these bytes, which begin no UTF-8; the
    // last one does, but is not followed by a length there.
    switch bytes.first {
    case 0x84, 0x85, 0x8C, 0x8D, 0xC1: return .openPGP
    case 0xC3 where bytes.dropFirst().first.map { $0 < 0x80 } ?? false: return .openPGP
    default: break
    }
    let start = bytes.prefix(1024)
    guard start.contains(0) else { return nil }
    // ASCII in UTF-16 has a zero in every other byte.
    let zeros = start.enumerated().filter { $0.element == 0 }.map { $0.offset % 2 }
    guard zeros.count > start.count / 3, Set(zeros).count == 1 else { return .otherBinary }
    return text(bytes, in: zeros[0] == 0 ? .utf16BigEndian : .utf16LittleEndian)
  }

  /// The names of files stand uncompressed before each of them.
  private static func zip(_ bytes: [UInt8]) -> DocumentKind {
    func has(_ name: String) -> Bool { Data(bytes).range(of: Data(name.utf8)) != nil }
    if has("export.attributes") || has("export.data") { return .onePassword }
    return has("data.json") ? .bitwardenArchive : .zip
  }

  private static func text(_ bytes: [UInt8]) -> DocumentKind {
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    var text = bytes.drop { " \t\r\n".utf8.contains($0) }
    // A person's comments.
    while text.first == UInt8(ascii: "#"),
      let end = text.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
    {
      text = text[end...].drop { " \t\r\n".utf8.contains($0) }
    }
    switch text.first {
    case nil: return .empty
    case UInt8(ascii: "<"): return xml(text)
    case UInt8(ascii: "{"): return json(text)
    case UInt8(ascii: "["):
      let next = text.dropFirst().first { !" \t\r\n".utf8.contains($0) }
      if next.map({ "{[\"]".utf8.contains($0) }) ?? false { return .jsonList }
      return words.contains { has($0, in: text) } ? .awsCredentials : .keyringFile
    default: return lines(text) ?? csv(text)
    }
  }

  /// Names of settings of AWS's programs, of which a profile has one at least.
  private static let words = [
    "aws_access_key_id", "aws_secret_access_key", "credential_process", "role_arn",
    "source_profile", "sso_start_url", "sso_session", "region",
  ]

  private static func has(_ word: String, in text: ArraySlice<UInt8>) -> Bool {
    String(decoding: text, as: UTF8.self).range(of: word, options: .caseInsensitive) != nil
  }

  /// Files of words in lines.
  private static func lines(_ text: ArraySlice<UInt8>) -> DocumentKind? {
    let first = text.prefix { !" \t\r\n".utf8.contains($0) }
    if ["machine", "default", "macdef"].contains(where: { first.elementsEqual($0.utf8) }) {
      return .netrc
    }
    return first.last == UInt8(ascii: ":")
      && ["oauth_token:", "git_protocol:"].contains { has($0, in: text) } ? .gitHubHosts : nil
  }

  private static func xml(_ text: ArraySlice<UInt8>) -> DocumentKind {
    let start = String(decoding: text.prefix(4096), as: UTF8.self).lowercased()
    if start.contains("<keepassfile") { return .keePassXML }
    if start.contains("<!doctype html") || start.contains("<html") { return .html }
    return start.contains("<pwlist") ? .keePass1XML : .otherXML
  }

  private static func json(_ text: ArraySlice<UInt8>) -> DocumentKind {
    guard let names = names(in: text) else {
      // Several objects, one in each line.
      let line = text.prefix { $0 != UInt8(ascii: "\n") }
      return names(in: line)?.keys.contains("service") == true ? .jsonLines : .otherJSON
    }
    if names["encrypted"] == true { return .encryptedBitwarden }
    if names.keys.contains("items") { return .bitwarden }
    if names.keys.contains("vaults") { return .protonPass }
    return names.keys.contains("service") && names.keys.contains("identifier")
      ? .jsonLines : .otherJSON
  }

  /// Returns the names in an object, each with whether its value is `true`; `nil` for other text.
  private static func names(in text: ArraySlice<UInt8>) -> [String: Bool]? {
    struct Truth: Decodable {
      let isTrue: Bool
      init(from decoder: any Decoder) throws {
        // Only one value of interest is a truth value; others are of any type.
        isTrue = (try? decoder.singleValueContainer().decode(Bool.self)) ?? false
      }
    }
    // What is no object has no names, for whatever reason.
    return try? JSONDecoder().decode([String: Truth].self, from: Data(text)).mapValues(\.isTrue)
  }

  /// Some of the columns by which a program's file is known, in small letters.
  private static let columns: [(Set<String>, DocumentKind)] = [
    (["group", "title", "username", "password"], .keePassCSV),
    (["login_username", "login_password"], .bitwardenCSV),
    (["account", "login name", "password", "web site"], .csv(of: "KeePass 1")),
    (["httprealm", "formactionorigin", "password"], .browserCSV),
    (["grouping", "extra", "username", "password"], .csv(of: "LastPass")),
    (["username2", "title", "password"], .csv(of: "Dashlane")),
    (["otpauth", "title", "username", "password"], .browserCSV),
    (["name", "url", "username", "password"], .browserCSV),
  ]

  private static func csv(_ text: ArraySlice<UInt8>) -> DocumentKind {
    let line = String(
      decoding: text.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }.prefix(4096),
      as: UTF8.self)
    func names(_ separator: Character) -> Set<String> {
      Set(
        line.split(separator: separator, omittingEmptySubsequences: false).map { name in
          name.trimmingCharacters(in: CharacterSet(charactersIn: " \"")).lowercased()
        })
    }
    let found = names(",")
    if let known = columns.first(where: { $0.0.isSubset(of: found) }) { return known.1 }
    for separator in [";", "\t", "|"] as [Character] {
      let names = names(separator)
      // The columns of a program, or at least a line that has no commas.
      if columns.contains(where: { $0.0.isSubset(of: names) })
        || names.count > 2 && found.count == 1
      {
        return .separated(by: separator)
      }
    }
    return found.count > 2 ? .otherCSV : .text
  }
}

// MARK: Texts

extension DocumentKind {
  /// The kind of source that reads it; `nil` if none does.
  private var source: String? {
    switch self {
    case .keePassXML: "keepass-xml:"
    case .keePassCSV: "keepass-csv:"
    case .browserCSV: "browser-csv:"
    case .awsCredentials: "aws-credentials:"
    case .gitHubHosts: "gh-hosts:"
    case .netrc: "netrc:"
    case .bitwarden: "bitwarden:"
    case .jsonLines: "jsonl:"
    case .keyringFile: "keyring-file:"
    case .libsecretFile: "libsecret-file:"
    default: nil
    }
  }

  /// What the file is.
  private var found: String {
    switch self {
    case .keePassXML: "an XML export of KeePass 2 or KeePassXC"
    case .keePassCSV: "a CSV export of KeePassXC"
    case .browserCSV: "a CSV export of a browser"
    case .awsCredentials: "a file of AWS's keys"
    case .gitHubHosts: "the hosts file of gh"
    case .netrc: "a netrc file"
    case .bitwarden: "a JSON export of Bitwarden"
    case .jsonLines: "JSON Lines"
    case .keyringFile: "a file of Python's keyring"
    case .libsecretFile: "libsecret's encrypted file"
    case .encryptedBitwarden: "an encrypted export of Bitwarden"
    case .bitwardenCSV: "Bitwarden's CSV export"
    case .protonPass: "an export of Proton Pass"
    case .jsonList: "a list of JSON values"
    case .otherJSON: "JSON of another form"
    case .keePass1XML: "an XML export of KeePass 1"
    case .html: "a web page"
    case .otherXML: "XML of another form"
    case .csv(let program): "a CSV export of \(program)"
    case .separated(let separator):
      "a table whose columns are separated by "
        + (separator == ";" ? "semicolons" : separator == "\t" ? "tabs" : "vertical bars")
    case .otherCSV: "a CSV file"
    case .utf16: "text in UTF-16"
    case .utf32: "text in UTF-32"
    case .empty: "empty"
    case .keePassDatabase: "the encrypted database of KeePass"
    case .keePass1Database: "the encrypted database of KeePass 1"
    case .onePassword: "an export of 1Password (.1pux)"
    case .bitwardenArchive: "an export of Bitwarden with attachments (.zip)"
    case .zip: "a ZIP archive"
    case .compressed: "a compressed file"
    case .openPGP: "a file that is encrypted with OpenPGP"
    case .age: "a file that is encrypted with age"
    case .privateKey: "a key or a certificate"
    case .sqlite: "an SQLite database"
    case .gnomeKeyring: "gnome-keyring's own file"
    case .otherBinary: "a binary file"
    case .text: "text"
    case .store: "a store"
    }
  }

  private static let throughKeePassXC =
    "Import it into KeePassXC, and export that database with keepassxc-cli export --format xml, "
    + "for keepass-xml:"

  private func remedy(_ name: String, for wanted: DocumentKind) -> String? {
    let path = name == Self.standardInput ? "-" : name.shellQuoted
    let file = name == Self.standardInput ? "FILE" : name.shellQuoted
    if let source { return "Give it as \(source)\(path)" }
    let pipe = wanted.pipe
    return switch self {
    case .keePassDatabase:
      "Export it: keepassxc-cli export --format xml \(file) | session-tools import STORE "
        + "keepass-xml:-"
    case .onePassword, .protonPass, .csv, .keePass1XML, .keePass1Database:
      Self.throughKeePassXC
    case .bitwardenArchive:
      "Take data.json out of it: unzip -p \(file) data.json | session-tools import STORE "
        + "bitwarden:-; copy its attachments by hand"
    case .encryptedBitwarden, .bitwardenCSV:
      "Export again in the format .json, or with bw export --format json, for bitwarden:"
    case .jsonList where wanted == .bitwarden:
      "bw list items writes no folders; use bw export --format json --raw"
    case .jsonList:
      "Of Bitwarden, export with bw export --format json, for bitwarden:; for jsonl:, write one "
        + "object in each line, as jq -c '.[]' does"
    case .zip: "Unpack it, and give the file that is in it"
    case .compressed(let program): "Decompress it: \(program) \(file) \(pipe)"
    case .openPGP: "Decrypt it: gpg --decrypt \(file) \(pipe)"
    case .age: "Decrypt it: age --decrypt \(file) \(pipe)"
    case .utf16(let kind):
      "Convert it: iconv -f UTF-16 -t UTF-8 \(file) \(kind.source == nil ? pipe : kind.pipe)"
    case .utf32(let kind):
      "Convert it: iconv -f UTF-32 -t UTF-8 \(file) \(kind.source == nil ? pipe : kind.pipe)"
    case .empty:
      "Check that the program that was to write it did so, and whether it wrote an error"
    case .gnomeKeyring:
      "Unlock that keyring in the desktop, and migrate from there, for example with secret-tool:"
    case .html: "Log in where it was downloaded, and export again"
    default: wanted.exporting
    }
  }

  /// The rest of a command whose output has this kind.
  private var pipe: String {
    switch self {
    case .keePassXML, .keePassCSV, .browserCSV, .awsCredentials, .gitHubHosts, .netrc,
      .bitwarden, .jsonLines:
      "| session-tools import STORE \(source ?? "")-"
    default: "> NEW, and give NEW with the kind of source that it is"
    }
  }

  /// How to get a file of a kind that a source reads.
  private var exporting: String? {
    switch self {
    case .keePassXML: "Export the database with keepassxc-cli export --format xml"
    case .keePassCSV: "Export the database with keepassxc-cli export --format csv"
    case .browserCSV: "Export the passwords in the browser's settings, as a CSV file"
    case .netrc: "Give a file with lines such as: machine HOST login USER password PASSWORD"
    case .awsCredentials: "Give ~/.aws/credentials, or a file of its form"
    case .gitHubHosts: "Give hosts.yml of gh, which is beside config.yml"
    case .bitwarden: "Export with bw export --format json, or in the format .json"
    case .jsonLines: "Write one JSON object in each line, as session-tools export --plaintext does"
    default: nil
    }
  }

  /// The name of a document that is not a file.
  package static let standardInput = "standard input"
}
