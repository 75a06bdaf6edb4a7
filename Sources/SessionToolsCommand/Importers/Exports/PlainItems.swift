package import StoreMigration
import Foundation
package import SecretStores

/// Items as JSON Lines, with their values in plain text.
///
/// Each line is an object with `service`, `group`, `install`, `identifier`, and `value` as text, or
/// `base64` if the value is not text. `group` and `install` may be absent or `null`. Any other
/// member, or one that is there twice, is an error: what is not read would be lost.
///
/// Use this only for a program that takes nothing else, and keep no such file: someone who has the
/// file has the values.
package enum PlainItems {
  private struct Line: Codable {
    enum CodingKeys: String, CodingKey, CaseIterable {
      case service, group, install, identifier, value, base64
    }

    let service: String
    let group: String?
    let install: String?
    let identifier: String
    let value: String?
    let base64: Data?
  }

  /// Returns one line, including its newline.
  ///
  /// Foundation makes copies of the value, which are not wiped.
  ///
  /// - Throws: `unencodable`.
  package static func line(
    for name: ItemName, _ value: SecretBytes
  ) throws(StoreError) -> SecretBytes {
    let bytes = value.copyBytes()
    let text = String(validating: bytes, as: UTF8.self)
    let line = Line(
      service: name.namespace.service, group: name.namespace.accessGroup,
      install: name.namespace.install?.rawValue, identifier: name.identifier, value: text,
      base64: text == nil ? Data(bytes) : nil)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return SecretBytes(try encoder.encode(line) + [UInt8(ascii: "\n")])
    } catch {
      throw StoreError(
        .unencodable, store: "JSON Lines", reason: "\(name) cannot be encoded",
        underlying: error)
    }
  }

  /// Returns the items of JSON Lines, to be migrated.
  ///
  /// - Parameters:
  ///   - lines: The lines; those without anything but whitespace are ignored. Foundation makes
  ///     copies of them.
  ///   - name: The name of the lines in errors.
  /// - Returns: The items.
  /// - Throws: `undecodable` with the number of the invalid line, `invalidName`, or `alreadyExists`
  ///   for a name that is in an earlier line.
  package static func items(
    _ lines: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    var items: [ItemName: SecretBytes] = [:]
    var bytes = lines.copyBytes()[...]
    guard !bytes.starts(with: [0xFF, 0xFE]), !bytes.starts(with: [0xFE, 0xFF]) else {
      throw StoreError(
        .undecodable, store: name, reason: "it is UTF-16, and JSON Lines are UTF-8",
        remedy: "Convert it first: iconv -f UTF-16 -t UTF-8")
    }
    // The mark that programs of Windows put before UTF-8.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
    let texts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (number, text) in texts.enumerated() where !text.allSatisfy(\.isWhitespaceOfJSON) {
      let (itemName, value) = try item(Data(text), name: "\(name), line \(number + 1)")
      guard items.updateValue(value, forKey: itemName) == nil else {
        throw StoreError(
          .alreadyExists, store: "\(name), line \(number + 1)",
          reason: "\(itemName) is already in an earlier line")
      }
    }
    return ReadOnlyItems(name: name, protection: "plain text, JSON Lines", items: items)
  }

  private static func item(
    _ text: Data, name: String
  ) throws(StoreError) -> (ItemName, SecretBytes) {
    func undecodable(_ reason: String) -> StoreError {
      StoreError(.undecodable, store: name, reason: reason)
    }
    guard let members = JSONMembers(of: text) else {
      throw undecodable("it is not an object in JSON")
    }
    if let repeated = members.repeated {
      throw undecodable("the member \(repeated.escapingControls()) is there twice")
    }
    if let unknown = members.names.first(where: { Line.CodingKeys(rawValue: $0) == nil }) {
      throw StoreError(
        .undecodable, store: name, reason: "the member \(unknown.escapingControls()) is unknown",
        remedy: "Remove it, or import what it has as an item of its own; the members are "
          + Line.CodingKeys.allCases.map(\.rawValue).joined(separator: ", "))
    }
    // Without Foundation's error, which may quote what it read.
    guard let line = try? JSONDecoder().decode(Line.self, from: text) else {
      throw undecodable("not a JSON object with service, identifier, and value or base64 as texts")
    }
    guard line.value == nil || line.base64 == nil else {
      throw undecodable("it has both value and base64")
    }
    guard let value = line.value.map({ Data($0.utf8) }) ?? line.base64 else {
      throw undecodable("it has neither value nor base64")
    }
    let namespace = try StoreNamespace(
      service: line.service, accessGroup: line.group,
      install: line.install.map { InstallIdentifier(rawValue: $0) })
    return (try ItemName(line.identifier, in: namespace), SecretBytes(value))
  }
}

extension UInt8 {
  fileprivate var isWhitespaceOfJSON: Bool {
    [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")].contains(self)
  }
}
