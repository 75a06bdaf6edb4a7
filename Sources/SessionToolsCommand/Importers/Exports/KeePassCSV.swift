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
    let table = CSVExport(
      kind: .keePassCSV, program: "KeePassXC",
      needed: ["Group", "Title", "Username", "Password"],
      // What is no secret, and has a value for every entry.
      ignored: ["Icon", "Last Modified", "Created"],
      names: [
        "Username": "username", "Password": "password", "URL": "url", "Notes": "notes",
        "TOTP": "otp",
      ],
      naming: { _ in ["Group", "Title"] },
      remedy: "Export the database with keepassxc-cli export --format csv")
    return try table.items(text, name: name) { row in
      (row["Group"] ?? "").split(separator: "/").dropFirst().map(String.init)
        + [row["Title"] ?? ""]
    }
  }
}
