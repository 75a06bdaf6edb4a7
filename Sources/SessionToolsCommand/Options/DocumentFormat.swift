import SessionToolsBase
import StoreMigration

/// The format of a file with items in plain text.
///
/// The raw value is its kind of source.
enum DocumentFormat: String, CaseIterable {
  /// JSON Lines, as `export --plaintext` writes them.
  case jsonLines = "jsonl"
  /// The CSV export of KeePassXC.
  case keePassCSV = "keepass-csv"
  /// The XML export of KeePass 2 and KeePassXC.
  case keePassXML = "keepass-xml"
  /// The unencrypted JSON export of Bitwarden.
  case bitwarden
  /// The passwords that a browser exports.
  case browserCSV = "browser-csv"
  /// The keys of AWS's programs.
  case awsCredentials = "aws-credentials"
  /// The passwords of programs of the network.
  case netrc
  /// The tokens of GitHub's program.
  case gitHubHosts = "gh-hosts"

  /// Where the program itself keeps the file; `nil` for an export.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  var standardPath: String? {
    get throws(StoreError) {
      switch self {
      case .awsCredentials: try AWSCredentials.standardPath
      case .netrc: try Netrc.standardPath
      case .gitHubHosts: try GitHubHosts.standardPath
      case .jsonLines, .keePassCSV, .keePassXML, .bitwarden, .browserCSV: nil
      }
    }
  }

  /// The most that is read, because all of it is in memory at the same time.
  static let maximumByteCount = 1 << 30

  /// Reads the items of a file, or of standard input for `-`.
  ///
  /// - Throws: A failure if there is no file or it cannot be read, `valueTooLarge`, `undecodable`
  ///   with the position of what is not in this format, `invalidName`, or `alreadyExists`.
  func items(_ path: String) throws -> any MigratableStore {
    if path == "-" {
      let content = try StandardInput.readValue(atMost: Self.maximumByteCount)
      return try items(of: content, name: DocumentKind.standardInput)
    }
    return try items(of: Files.read(path, atMost: Self.maximumByteCount), name: path)
  }

  private func items(
    of content: SecretBytes, name: String
  ) throws(StoreError) -> any MigratableStore {
    switch self {
    case .jsonLines:
      try DocumentKind(of: content.copyBytes()).check(is: .jsonLines, name: name)
      let items = try PlainItems.items(content, name: name)
      // A program that failed has written nothing.
      guard try !items.listing().names.isEmpty else {
        throw StoreError(
          .undecodable, store: name, reason: "there is no item in it",
          remedy: "Check that the program that was to write it did so")
      }
      return items
    case .keePassCSV: return try KeePassCSV.items(content, name: name)
    case .keePassXML: return try KeePassXML.items(content, name: name)
    case .bitwarden: return try BitwardenExport.items(content, name: name)
    case .browserCSV: return try BrowserCSV.items(content, name: name)
    case .awsCredentials: return try AWSCredentials.items(content, name: name)
    case .netrc: return try Netrc.items(content, name: name)
    case .gitHubHosts: return try GitHubHosts.items(content, name: name)
    }
  }
}
