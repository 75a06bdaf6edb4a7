package import SessionToolsBase

/// The XML export of KeePass 2 and KeePassXC as the source of a migration.
///
/// Every entry becomes a service, as ``ExportedEntries`` describes. The name of the root group is
/// left out, as in the paths of `keepassxc-cli`. Entries in the recycle bin are among them; older
/// versions of an entry are not. Attachments are reported, because they are not read. References to
/// other fields, `{REF:...}`, are kept as they are, and so are the names of fields for one-time
/// passwords other than `otp`, such as `TOTP Seed` and `TimeOtp-Secret-Base32`.
package enum KeePassXML {
  /// Returns the items of an export.
  ///
  /// - Parameters:
  ///   - document: The entire export.
  ///   - name: The name of the export in errors.
  /// - Returns: The items; listing them reports attachments.
  /// - Throws: `undecodable` with the line.
  package static func items(
    _ document: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    var database = KeePassDatabase(
      reader: XMLReader(document.copyBytes(), name: name),
      entries: ExportedEntries(name, of: "KeePass"))
    try database.read()
    return database.entries.store
  }
}

/// The groups and entries of a database, in the order in which the export has them.
///
/// Both programs write the name of a group before its entries, and the values that they protect in
/// memory as plain text with `ProtectInMemory="True"`.
///
/// Source: src/format/KdbxXmlWriter.cpp in https://github.com/keepassxreboot/keepassxc, and
/// KeePassLib/Serialization/KdbxFile.Write.cs of KeePass 2, in https://github.com/dlech/KeePass2.x.
private struct KeePassDatabase {
  var reader: XMLReader
  var entries: ExportedEntries

  private static let names = [
    "UserName": "username", "Password": "password", "URL": "url", "Notes": "notes", "otp": "otp",
  ]

  mutating func read() throws(StoreError) {
    guard case .start("KeePassFile", _) = try reader.next() else {
      throw reader.undecodable("this is not an XML export of KeePass 2 or KeePassXC")
    }
    try readElement { database, element, _ throws(StoreError) in
      guard element == "Root" else { return false }
      try database.readElement { database, element, _ throws(StoreError) in
        guard element == "Group" else { return false }
        try database.readGroup(in: nil)
        return true
      }
      return true
    }
    // Reads what is behind the document, which must be nothing.
    while try reader.next() != nil {}
  }

  /// Reads a group.
  ///
  /// - Parameter path: The names of the groups that it is in; `nil` for the root group.
  /// - Throws: `undecodable` with the line.
  private mutating func readGroup(in path: [String]?) throws(StoreError) {
    var own = path ?? []
    try readElement { database, element, _ throws(StoreError) in
      switch element {
      case "Name":
        let name = try database.reader.textToEnd()
        if let path { own = path + [name] }
      case "Entry": try database.readEntry(in: own)
      case "Group": try database.readGroup(in: own)
      default: return false
      }
      return true
    }
  }

  private mutating func readEntry(in path: [String]) throws(StoreError) {
    let position = "line \(reader.line)"
    var title = ""
    var fields: [ExportedEntries.Field] = []
    var attachmentCount = 0
    try readElement { database, element, _ throws(StoreError) in
      switch element {
      case "String":
        let field = try database.readField()
        if field.name == "Title" {
          title = field.value
        } else {
          fields.append(
            ExportedEntries.Field(name: Self.names[field.name] ?? field.name, value: field.value))
        }
        return true
      case "Binary":
        attachmentCount += 1
        return false
      default: return false
      }
    }
    entries.add(path + [title], fields, at: position)
    if attachmentCount > 0 {
      entries.leaveOut("the entry has attachments, which are not read", at: position)
    }
  }

  private mutating func readField() throws(StoreError) -> ExportedEntries.Field {
    var (name, value) = ("", "")
    try readElement { database, element, attributes throws(StoreError) in
      switch element {
      case "Key": name = try database.reader.textToEnd()
      case "Value":
        guard attributes["Protected"] != "True" else {
          throw database.reader.undecodable("a value is encrypted, as in no export")
        }
        value = try database.reader.textToEnd()
      default: return false
      }
      return true
    }
    return ExportedEntries.Field(name: name, value: value)
  }

  /// Reads the elements within the one that was started last, and its end.
  ///
  /// - Parameter read: Reads one element and its end; returns `false` without reading anything for
  ///   one that is to be skipped.
  /// - Throws: `undecodable` with the line, and what `read` throws.
  private mutating func readElement(
    _ read: (inout Self, String, [String: String]) throws(StoreError) -> Bool
  ) throws(StoreError) {
    while true {
      switch try reader.next() {
      case .start(let element, let attributes):
        guard try !read(&self, element, attributes) else { continue }
        try reader.skipToEnd()
      case .text: continue
      case .end, nil: return
      }
    }
  }
}
