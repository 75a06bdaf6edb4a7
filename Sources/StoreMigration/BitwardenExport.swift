import Foundation
package import SessionToolsBase

/// The unencrypted JSON export of Bitwarden as the source of a migration.
///
/// Every item becomes a service, as ``ExportedEntries`` describes: its folder, or its collection in
/// the export of an organization, and its name. The fields of cards, identities, SSH keys, bank
/// accounts, driver's licences and passports have Bitwarden's names, such as `number` and
/// `privateKey`. Earlier passwords are left out. Passkeys and kinds of items that are not known are
/// reported, because they are not read. Bitwarden does not write attachments into this format.
package enum BitwardenExport {
  /// Returns the items of an export.
  ///
  /// Foundation makes copies of the values, which are not wiped.
  ///
  /// - Parameters:
  ///   - document: The entire export.
  ///   - name: The name of the export in errors.
  /// - Returns: The items; listing them reports passkeys.
  /// - Throws: `undecodable`, with the position in the document if it is JSON.
  package static func items(
    _ document: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    let data = Data(document.copyBytes())
    // First, because the items of an encrypted export have other types, or are not there.
    let kind: Kind = try decode(data, name)
    guard kind.encrypted != true else {
      throw StoreError(
        .undecodable, store: name, reason: "the export is encrypted, and only Bitwarden opens it",
        remedy: "Export again in the format .json, or with bw export --format json")
    }
    let export: Export = try decode(data, name)
    var folders: [String: String] = [:]
    for folder in (export.folders ?? []) + (export.collections ?? []) {
      if let id = folder.id { folders[id] = folder.name }
    }
    var entries = ExportedEntries(name, of: "Bitwarden")
    for (number, item) in export.items.enumerated() {
      let position = "items[\(number)]"
      let identifiers = ([item.folderId] + (item.collectionIds ?? [])).compactMap(\.self)
      let folder = identifiers.lazy.compactMap { folders[$0] }.first
      entries.add([folder ?? "", item.name ?? ""], item.allFields, at: position)
      if item.login?.fido2Credentials?.isEmpty == false {
        entries.leaveOut("the item has a passkey, which is not read", at: position)
      }
      if !(1...8).contains(item.type) {
        entries.leaveOut("the item is of an unknown kind, \(item.type)", at: position)
      }
    }
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

// The parts of the document that are read. What has no value is null, "" or not there, depending
// on the version that wrote it. Some versions wrote "collectionIds": [null].
//
// Source: libs/common/src/models/export/ and libs/tools/export/vault-export/vault-export-core/ in
// https://github.com/bitwarden/clients; crates/bitwarden-exporters/src/json.rs in
// https://github.com/bitwarden/sdk-internal; tests/data/bitwarden_export.json in
// https://github.com/keepassxreboot/keepassxc, and tests/assets/db/bitwarden-org.json in
// https://github.com/roddhjav/pass-import, which are exports of earlier versions.

private struct Kind: Decodable {
  let encrypted: Bool?
}

private struct Export: Decodable {
  struct Folder: Decodable {
    let id: String?
    let name: String?
  }

  let folders: [Folder]?
  let collections: [Folder]?
  let items: [Item]
}

private struct Item: Decodable {
  struct Login: Decodable {
    struct Location: Decodable {
      let uri: String?
    }
    /// A passkey, of which only its presence is looked at.
    struct Passkey: Decodable {}

    let username: String?
    let password: String?
    let totp: String?
    let uris: [Location]?
    let fido2Credentials: [Passkey]?
  }

  struct Field: Decodable {
    let name: String?
    let value: Text?
  }

  /// A value, which Bitwarden always writes as a string.
  ///
  /// Other programs that write this format may have numbers and truth values.
  struct Text: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      // A failed attempt only means another type; the last one throws for all other types.
      if let string = try? value.decode(String.self) {
        text = string
      } else if let truth = try? value.decode(Bool.self) {
        text = truth.description
      } else {
        text = try value.decode(Decimal.self).description
      }
    }
  }

  let type: Int
  let name: String?
  let notes: String?
  let folderId: String?
  let collectionIds: [String?]?
  let login: Login?
  let card: [String: Text?]?
  let identity: [String: Text?]?
  let sshKey: [String: Text?]?
  let bankAccount: [String: Text?]?
  let driversLicense: [String: Text?]?
  let passport: [String: Text?]?
  let fields: [Field]?

  /// All fields, in an order that is always the same.
  var allFields: [ExportedEntries.Field] {
    var all: [(name: String, value: String?)] = [
      ("username", login?.username), ("password", login?.password), ("otp", login?.totp),
    ]
    all += (login?.uris ?? []).map { ("url", $0.uri) }
    all.append(("notes", notes))
    for part in [card, identity, sshKey, bankAccount, driversLicense, passport] {
      all += (part ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value?.text) }
    }
    all += (fields ?? []).map { ($0.name ?? "", $0.value?.text) }
    return all.map { ExportedEntries.Field(name: $0.name, value: $0.value ?? "") }
  }
}
