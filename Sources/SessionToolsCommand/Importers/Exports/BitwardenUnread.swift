/// The parts of a Bitwarden export that are not read.
enum UnreadMembers {
  private typealias Unread = ExportedEntries.Unread

  /// Returns what is not read of an item.
  ///
  /// - Parameters:
  ///   - item: What is read of it.
  ///   - members: All of it.
  /// - Returns: The parts that have something of a person's, in an order that is always the same.
  static func of(
    _ item: BitwardenExport.Item, _ members: JSONValue
  ) -> [ExportedEntries.Unread] {
    var unread: [Unread] = []
    if !(1...8).contains(item.type) {
      unread.append(Unread("kind \(item.type)", "this kind of item is not known"))
    }
    unread += members.unknown(but: known).map { Unread($0) }
    for attachment in members.members["attachments"]?.values ?? [] {
      let name = attachment.members["fileName"]?.string ?? ""
      unread.append(Unread("attachment \(name)", "attachments are not read"))
    }
    let login = members.members["login"] ?? .null
    unread += login.unknown(but: knownOfLogin).map { Unread("login.\($0)") }
    for passkey in login.members["fido2Credentials"]?.values ?? [] {
      let site = passkey.members["rpId"]?.string ?? ""
      unread.append(Unread("passkey \(site)", "passkeys are not read"))
    }
    unread += list(login, "uris", but: ["uri", "match", "uriChecksum"])
      .map { Unread("login.\($0)") }
    unread += list(members, "fields", but: ["name", "value", "type", "linkedId"]).map { Unread($0) }
    let note = members.members["secureNote"] ?? .null
    unread += note.unknown(but: ["type"]).map { Unread("secureNote.\($0)") }
    return unread
  }

  /// Returns what is not read of the export itself, and of its folders and collections.
  static func ofExport(_ export: JSONValue) -> [ExportedEntries.Unread] {
    let folder: Set = [
      "id", "name", "object", "organizationId", "externalId", "creationDate", "revisionDate",
      "deletedDate",
    ]
    return
      (export.unknown(but: ["encrypted", "passwordProtected", "items", "folders", "collections"])
      + list(export, "folders", but: folder) + list(export, "collections", but: folder))
      .map { Unread($0) }
  }

  /// What is read of an item, or has nothing of a person's, or is documented as left out.
  private static let known: Set = [
    "type", "name", "notes", "folderId", "collectionIds", "login", "card", "identity", "sshKey",
    "bankAccount", "driversLicense", "passport", "fields", "secureNote",
    "id", "organizationId", "object", "externalId", "reprompt", "favorite", "edit",
    "viewPassword", "permissions", "organizationUseTotp", "creationDate", "revisionDate",
    "deletedDate", "archivedDate", "passwordHistory", "attachments",
  ]

  private static let knownOfLogin: Set = [
    "username", "password", "totp", "uris", "fido2Credentials", "passwordRevisionDate",
    "autofillOnPageLoad",
  ]

  /// Returns the members with text that are not known in the values of a list.
  private static func list(
    _ value: JSONValue, _ name: String, but known: Set<String>
  ) -> [String] {
    (value.members[name]?.values ?? []).enumerated().flatMap { number, value in
      value.unknown(but: known).map { "\(name)[\(number)].\($0)" }
    }
  }
}
