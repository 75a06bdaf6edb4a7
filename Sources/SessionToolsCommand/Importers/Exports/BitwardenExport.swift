package import StoreMigration
import Foundation
package import SecretStores

/// The unencrypted JSON export of Bitwarden as the source of a migration.
///
/// Every item becomes a service, as ``ExportedEntries`` describes: its folder, or its collection in
/// the export of an organization, and its name. The names of its other collections are its fields
/// `collection`. The fields of cards, identities, SSH keys, bank accounts, driver's licences and
/// passports have Bitwarden's names, such as `number` and `privateKey`. A field that is linked to
/// another one has that one's value. Earlier passwords are left out.
///
/// Passkeys, attachments, and kinds of items that are not known are reported, because they are not
/// read. So is every member with text that is not known here to have nothing of a person's. A
/// folder without items has nothing to keep. Bitwarden does not write the content of attachments
/// into this format.
package enum BitwardenExport {
  /// Returns the items of an export.
  ///
  /// Foundation makes copies of the values, which are not wiped.
  ///
  /// - Parameters:
  ///   - document: The entire export.
  ///   - name: The name of the export in errors.
  /// - Returns: The items; listing them reports what is not read.
  /// - Throws: `undecodable`, with the position in the document if it is JSON, or with the kind of
  ///   a file of another format.
  package static func items(
    _ document: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    let bytes = document.copyBytes()
    try DocumentKind(of: bytes).check(is: .bitwarden, name: name)
    let data = Data(bytes)
    // First, because the items of an encrypted export have other types, or are not there.
    let kind: Kind = try decode(data, name)
    guard kind.encrypted != true else {
      throw StoreError(
        .undecodable, store: name, reason: "the export is encrypted, and only Bitwarden opens it",
        remedy: "Export again in the format .json, or with bw export --format json")
    }
    let export: Export = try decode(data, name)
    let all: JSONValue = try decode(data, name)
    let folders = FolderNames(export)
    var entries = ExportedEntries(name, of: "Bitwarden")
    for (item, members) in zip(export.items, all.members["items"]?.values ?? []) {
      let names = folders.names(of: item)
      var fields = item.allFields
      fields += names.dropFirst().map { ExportedEntries.Field(name: "collection", value: $0) }
      entries.add(
        [names.first ?? "", item.name ?? ""], fields, unread: UnreadMembers.of(item, members))
    }
    for unread in UnreadMembers.ofExport(all) { entries.leaveOut("the export", unread) }
    return entries.store
  }

  private static func decode<Document: Decodable>(
    _ data: Data, _ name: String
  ) throws(StoreError) -> Document {
    do {
      return try JSONDecoder().decode(Document.self, from: data)
    } catch let error as DecodingError {
      // Without the rest of Foundation's error, which may quote what it read.
      let path = Self.path(of: error)
      throw StoreError(
        .undecodable, store: path.isEmpty ? name : "\(name), \(path)",
        reason: "this is not what a JSON export of Bitwarden has there")
    } catch {
      throw StoreError(.undecodable, store: name, reason: "this is not a JSON export of Bitwarden")
    }
  }

  /// Returns the position of an error: `items[3].login.password`.
  private static func path(of error: DecodingError) -> String {
    var path: [any CodingKey]
    switch error {
    case .keyNotFound(let key, let context): path = context.codingPath + [key]
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
      path = context.codingPath
    @unknown default: path = []
    }
    // A key that the document has chosen may be anything.
    if let last = path.last, last.intValue == nil, path.count > 3 { path.removeLast() }
    let text = path.map { key in
      key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)"
    }.joined()
    return text.hasPrefix(".") ? String(text.dropFirst()) : text
  }
}
