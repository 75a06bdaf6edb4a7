package import StoreMigration
package import SecretStores

/// The CSV export of KeePassXC as the source of a migration.
///
/// Every entry becomes a service, as ``ExportedEntries`` describes. The name of the root group is
/// left out, as in the paths of `keepassxc-cli`. Entries in the recycle bin are among them. A
/// column that is not known becomes a field of its name. This export has no attachments, no fields
/// of a person's own and no history; that of KeePassXC 2.6.2 and earlier has no one-time passwords
/// either. References to other fields, `{REF:...}`, are kept as they are.
///
/// Source: src/format/CsvExporter.cpp in https://github.com/keepassxreboot/keepassxc, and its issue
/// 6476.
package enum KeePassCSV {
  /// Returns the items of an export.
  ///
  /// - Parameters:
  ///   - text: The entire export.
  ///   - name: The name of the export in errors.
  /// - Returns: The items.
  /// - Throws: `undecodable` with the line, or with the kind of a file of another format.
  package static func items(
    _ text: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    let bytes = text.copyBytes()
    try DocumentKind(of: bytes).check(is: .keePassCSV, name: name)
    var reader = CSVReader(bytes, name: name)
    let header = try reader.next() ?? []
    guard needed.allSatisfy(header.contains), Set(header).count == header.count else {
      throw StoreError(
        .undecodable, store: "\(name), line 1",
        reason: "it does not name the columns \(needed.joined(separator: ", "))",
        remedy: "Export the database with keepassxc-cli export --format csv")
    }
    var entries = ExportedEntries(name, of: "KeePassXC")
    while let row = try reader.next() {
      // A spreadsheet's empty line, and one with nothing but white space.
      let isBlank = row.count == 1 && row[0].allSatisfy(\.isWhitespace)
      guard !isBlank, row.contains(where: { !$0.isEmpty }) else { continue }
      guard row.count == header.count else {
        throw reader.undecodable(
          "the number of fields is \(row.count), and the number of columns \(header.count)")
      }
      var (group, title) = ("", "")
      var fields: [ExportedEntries.Field] = []
      for (column, value) in zip(header, row) {
        switch column {
        case "Group": group = value
        case "Title": title = value
        case _ where ignored.contains(column): break
        default: fields.append(ExportedEntries.Field(name: names[column] ?? column, value: value))
        }
      }
      let groups = group.split(separator: "/").dropFirst().map(String.init)
      entries.add(groups + [title], fields)
    }
    return entries.store
  }

  private static let needed = ["Group", "Title", "Username", "Password"]
  /// What is no secret, and has a value for every entry.
  private static let ignored: Set = ["Icon", "Last Modified", "Created"]
  private static let names = [
    "Username": "username", "Password": "password", "URL": "url", "Notes": "notes", "TOTP": "otp",
  ]
}
