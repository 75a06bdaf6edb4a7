package import StoreMigration
import Foundation
package import SecretStores

/// The file in which AWS's programs keep keys, `~/.aws/credentials`, as the source of a migration.
///
/// A profile becomes the service `aws/NAME`, and each of its settings an item:
/// `aws_access_key_id`, `aws_secret_access_key`, `aws_session_token` if it has one, and others, in
/// small letters.
///
/// Source: botocore/configloader.py, which reads it by Python's configparser.
package enum AWSCredentials {
  /// The service of a profile.
  package static func service(of profile: String) -> String { "aws/\(profile)" }

  /// The file that AWS's programs read: `$AWS_SHARED_CREDENTIALS_FILE`, or `~/.aws/credentials`.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static var standardPath: String {
    get throws(StoreError) {
      if let path = ProcessInfo.processInfo.environment["AWS_SHARED_CREDENTIALS_FILE"],
        !path.isEmpty
      {
        return path
      }
      return try UserDirectory.home(or: "AWS_SHARED_CREDENTIALS_FILE") + "/.aws/credentials"
    }
  }

  /// Returns the items of a file.
  ///
  /// - Parameters:
  ///   - text: The entire file.
  ///   - name: The name of the file in errors.
  /// - Returns: The items; listing them reports settings that have settings of their own.
  /// - Throws: `undecodable` with the line, or with the kind of a file of another format.
  package static func items(
    _ text: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    let lines = try TextLines(
      text, is: .awsCredentials, name: name,
      remedy: "Write each setting as NAME = VALUE below its [PROFILE], and comments on lines of "
        + "their own")
    var entries = ExportedEntries(name, of: "AWS's programs")
    var profiles: [Profile] = []
    for (number, line) in lines.numbered {
      let indentation = line.prefix { $0 == " " || $0 == "\t" }.count
      let text = trimmed(line[...])
      guard let first = text.first, first != "#", first != ";" else { continue }
      // Deeper than the settings of a profile, a line belongs to the one above.
      if let base = profiles.last?.indentation, indentation > base {
        profiles[profiles.count - 1].continueSetting()
      } else if first == "[" {
        let profile = try profileName(text, lines, number)
        guard !profiles.contains(where: { $0.name == profile }) else {
          throw lines.undecodable("the profile is already in an earlier line", line: number)
        }
        profiles.append(Profile(name: profile))
      } else {
        guard !profiles.isEmpty else {
          throw lines.undecodable("a setting is in no profile", line: number)
        }
        guard let equals = text.firstIndex(where: { $0 == "=" || $0 == ":" }) else {
          throw lines.undecodable("it is no setting, which has a = behind its name", line: number)
        }
        let setting = trimmed(text[..<equals]).lowercased()
        let value = String(trimmed(text[text.index(after: equals)...]))
        guard profiles[profiles.count - 1].add(setting, value, indentation) else {
          throw lines.undecodable("the setting has no name, or is there twice", line: number)
        }
      }
    }
    for profile in profiles {
      let service = service(of: profile.name)
      if profile.fields.contains(where: { !$0.value.isEmpty }) {
        entries.add([service], profile.fields, unread: profile.unread)
      } else {
        for unread in profile.unread { entries.leaveOut(service, unread) }
      }
    }
    return entries.store
  }

  private static func profileName(
    _ text: Substring, _ lines: TextLines, _ number: Int
  ) throws(StoreError) -> String {
    guard let end = text.firstIndex(of: "]"), end > text.index(after: text.startIndex) else {
      throw lines.undecodable("a profile has no name in brackets", line: number)
    }
    let rest = trimmed(text[text.index(after: end)...])
    guard rest.first.map({ "#;".contains($0) }) ?? true else {
      throw lines.undecodable("something follows the profile's name", line: number)
    }
    return String(text[text.index(after: text.startIndex)..<end])
  }

  /// Without the blanks of ASCII: any other may be a part of a value.
  private static func trimmed(_ text: Substring) -> Substring {
    let start = text.drop { $0 == " " || $0 == "\t" }
    return start.lastIndex { $0 != " " && $0 != "\t" }.map { start[...$0] } ?? ""
  }
}

/// The settings of a profile.
private struct Profile {
  /// The settings that are a key, or a part of one.
  private static let keys: Set = [
    "aws_access_key_id", "aws_secret_access_key", "aws_session_token", "aws_security_token",
  ]

  let name: String
  private(set) var indentation: Int?
  private var settings: [(name: String, value: String)] = []
  /// Why some are not read, by their names.
  private var reasons: [String: String] = [:]

  init(name: String) {
    self.name = name
  }

  /// Adds a setting; `false` if it has no name, or the name of an earlier one.
  mutating func add(_ setting: String, _ value: String, _ indentation: Int) -> Bool {
    guard !setting.isEmpty, !settings.contains(where: { $0.name == setting }) else { return false }
    self.indentation = self.indentation ?? indentation
    settings.append((setting, value))
    // Some of AWS's libraries take these for the value, and some do not (hashicorp/aws-sdk-go-base
    // 787, rusoto/rusoto 736).
    if Self.keys.contains(setting) {
      if value.range(of: "[ \\t][#;]", options: .regularExpression) != nil {
        reasons[setting] = "programs differ about the comment behind it; give it a line of its own"
      } else if let first = value.first, "\"'".contains(first), value.last == first {
        reasons[setting] = "programs differ about the quotes around it; remove them"
      }
    }
    return true
  }

  /// The setting above has further lines: half a key opens nothing.
  mutating func continueSetting() {
    if let last = settings.last { reasons[last.name] = "a setting of several lines is not read" }
  }

  var fields: [ExportedEntries.Field] {
    settings.filter { reasons[$0.name] == nil }
      .map { ExportedEntries.Field(name: $0.name, value: $0.value) }
  }

  var unread: [ExportedEntries.Unread] {
    settings.compactMap { setting in
      reasons[setting.name].map { ExportedEntries.Unread(setting.name, $0) }
    }
  }
}
