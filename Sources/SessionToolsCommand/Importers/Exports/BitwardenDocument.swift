import Foundation

// The parts of the document that are read. What has no value is null, "" or not there, depending
// on the version that wrote it. Some versions wrote "collectionIds": [null].
//
// Source: libs/common/src/models/export/ and libs/tools/export/vault-export/vault-export-core/ in
// https://github.com/bitwarden/clients; linked fields: linked-id-type.enum.ts there; crates/bitwarden-exporters/src/json.rs in
// https://github.com/bitwarden/sdk-internal; tests/data/bitwarden_export.json in
// https://github.com/keepassxreboot/keepassxc, and tests/assets/db/bitwarden-org.json in
// https://github.com/roddhjav/pass-import, which are exports of earlier versions.

extension BitwardenExport {
  struct Kind: Decodable {
    let encrypted: Bool?
  }

  struct Export: Decodable {
    struct Folder: Decodable {
      let id: String?
      let name: String?
    }

    let folders: [Folder]?
    let collections: [Folder]?
    let items: [Item]
  }

  struct Item: Decodable {
    struct Login: Decodable {
      struct Location: Decodable {
        let uri: String?
      }
      let username: String?
      let password: String?
      let totp: String?
      let uris: [Location]?
    }

    struct Field: Decodable {
      let name: String?
      let value: Text?
      /// The number of the field that this one shows; `nil` for one with a value of its own.
      let linkedId: Int?
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
      var all: [(name: String, value: String?)] = []
      if let login {
        all += [
          ("username", login.username), ("password", login.password), ("otp", login.totp),
        ]
        all += (login.uris ?? []).map { ("url", $0.uri) }
      }
      all.append(("notes", notes))
      for part in [card, identity, sshKey, bankAccount, driversLicense, passport] {
        all += (part ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value?.text) }
      }
      return all.map { ExportedEntries.Field(name: $0.name, value: $0.value ?? "") }
        + (fields ?? []).map { field in
          ExportedEntries.Field(
            name: field.name ?? "", value: field.value?.text ?? linkedValue(of: field) ?? "",
            isOwn: field.name?.isEmpty == false)
        }
    }

    /// Returns the value that a linked field shows; `nil` for one of another kind.
    private func linkedValue(of field: Field) -> String? {
      switch field.linkedId {
      case nil: return nil
      case 100: return login?.username
      case 101: return login?.password
      case 418:
        let names = ["title", "firstName", "middleName", "lastName"]
        return names.compactMap { identity?[$0]??.text }.joined(separator: " ")
      case let number?:
        guard let name = Self.linkedNames[number] else { return nil }
        return (number < 400 ? card : identity)?[name]??.text
      }
    }

    private static let linkedNames = [
      300: "cardholderName", 301: "expMonth", 302: "expYear", 303: "code", 304: "brand",
      305: "number", 400: "title", 401: "middleName", 402: "address1", 403: "address2",
      404: "address3", 405: "city", 406: "state", 407: "postalCode", 408: "country",
      409: "company", 410: "email", 411: "phone", 412: "ssn", 413: "username",
      414: "passportNumber", 415: "licenseNumber", 416: "firstName", 417: "lastName",
    ]
  }
}

extension BitwardenExport {
  /// The names of the folders and collections.
  struct FolderNames {
    private let names: [String: String]

    init(_ export: Export) {
      let folders = ((export.folders ?? []) + (export.collections ?? [])).compactMap { folder in
        folder.id.map { (id: $0, name: folder.name ?? "") }
      }
      names = Dictionary(folders.map { ($0.id, $0.name) }) { $1 }
    }

    /// Returns the names of an item's folder and collections.
    func names(of item: Item) -> [String] {
      let identifiers = ([item.folderId] + (item.collectionIds ?? [])).compactMap(\.self)
      return identifiers.compactMap { names[$0] }.filter { !$0.isEmpty }
    }
  }
}
