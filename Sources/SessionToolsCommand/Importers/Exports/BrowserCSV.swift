package import StoreMigration
import Foundation
package import SecretStores

/// The passwords that a browser exports, as the source of a migration.
///
/// Chrome and those made of it, Firefox and Safari; 1Password writes a table of the same form.
///
/// Every row becomes a service, as ``ExportedEntries`` describes, with the name that the browser
/// gave the site, or the host of its address. A column that is not known becomes a field.
///
/// Source: components/password_manager/core/browser/export/password_csv_writer.cc of Chromium and
/// toolkit/components/passwordmgr/LoginExport.sys.mjs of Firefox.
package enum BrowserCSV {
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
      kind: .browserCSV, program: "a browser", needed: ["url", "username", "password"],
      // Of Firefox: where the form was sent, and what it counts.
      ignored: ["formactionorigin", "guid", "timecreated", "timelastused", "timepasswordchanged"],
      names: [
        "url": "url", "username": "username", "password": "password", "note": "notes",
        "notes": "notes", "otpauth": "otp",
      ],
      naming: { [$0.contains("name") ? "name" : "title"] },
      remedy: "Export the passwords in the browser's settings, as a CSV file", ignoresCase: true)
    return try table.items(text, name: name) { row in
      let given = [row["name"], row["title"]].compactMap(\.self).first { !$0.isEmpty }
      // Nothing else of an address, which may have a password in it.
      return [given ?? URL(string: row["url"] ?? "")?.host(percentEncoded: false) ?? ""]
    }
  }
}
