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
    let lines = try TextLines(text, is: .awsCredentials, name: name)
    var entries = ExportedEntries(name, of: "AWS's programs")
    // Which settings go on in the lines below them: half a key opens nothing.
    var profiles: [(name: String, fields: [ExportedEntries.Field], longer: Set<String>)] = []
    for (number, line) in lines.numbered {
      let isIndented = line.first?.isWhitespace ?? false
      let text = line.trimmingCharacters(in: .whitespaces)
      guard let first = text.first, first != "#", first != ";" else { continue }
      if !isIndented, first == "[" {
        guard let end = text.firstIndex(of: "]"), end > text.index(after: text.startIndex) else {
          throw lines.undecodable("a profile has no name in brackets", line: number)
        }
        let profile = String(text[text.index(after: text.startIndex)..<end])
        guard !profiles.contains(where: { $0.name == profile }) else {
          throw lines.undecodable("the profile is already in an earlier line", line: number)
        }
        profiles.append((profile, [], []))
        continue
      }
      guard let profile = profiles.indices.last else {
        throw lines.undecodable("a setting is in no profile", line: number)
      }
      if isIndented {
        guard let above = profiles[profile].fields.last else {
          throw lines.undecodable("a line is indented, but continues nothing", line: number)
        }
        profiles[profile].longer.insert(above.name)
        continue
      }
      guard let equals = text.firstIndex(where: { $0 == "=" || $0 == ":" }) else {
        throw lines.undecodable("it is no setting, which has a = behind its name", line: number)
      }
      let setting = text[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
      guard !setting.isEmpty, !profiles[profile].fields.contains(where: { $0.name == setting })
      else { throw lines.undecodable("the setting has no name, or is there twice", line: number) }
      let value = text[text.index(after: equals)...].trimmingCharacters(in: .whitespaces)
      profiles[profile].fields.append(ExportedEntries.Field(name: setting, value: value))
    }
    for profile in profiles {
      entries.add(
        [service(of: profile.name)], profile.fields.filter { !profile.longer.contains($0.name) },
        unread: profile.longer.sorted().map {
          ExportedEntries.Unread($0, "a setting of several lines is not read")
        })
    }
    return entries.store
  }
}
