import StoreMigration
import SecretStores

/// A table of entries that another program exports as comma-separated values.
struct CSVExport {
  let kind: DocumentKind
  /// What wrote it.
  let program: String
  /// The columns that it must have.
  let needed: [String]
  /// Columns with nothing of a person's.
  let ignored: Set<String>
  /// The names of the fields that columns become; others keep the column's own.
  let names: [String: String]
  /// Returns which of the columns only name the entry.
  let naming: ([String]) -> Set<String>
  let remedy: String
  /// Whether capitals in the names of columns do not count.
  var ignoresCase = false

  /// Returns the items of an export.
  ///
  /// - Parameters:
  ///   - text: The entire export.
  ///   - name: The name of the export in errors.
  ///   - path: The names of an entry's groups and its title, from its fields by column.
  /// - Returns: The items.
  /// - Throws: `undecodable` with the line, or with the kind of a file of another format.
  func items(
    _ text: SecretBytes, name: String, path: (_ row: [String: String]) -> [String]
  ) throws(StoreError) -> ReadOnlyItems {
    let bytes = text.copyBytes()
    try DocumentKind(of: bytes).check(is: kind, name: name)
    var reader = CSVReader(bytes, name: name)
    let written = try reader.next() ?? []
    let columns = ignoresCase ? written.map { $0.lowercased() } : written
    guard Set(columns).count == columns.count else {
      throw StoreError(
        .undecodable, store: "\(name), line 1", reason: "two columns have the same name",
        remedy: remedy)
    }
    guard needed.allSatisfy(columns.contains) else {
      throw StoreError(
        .undecodable, store: "\(name), line 1",
        reason: "it does not name the columns \(needed.joined(separator: ", "))", remedy: remedy)
    }
    let naming = naming(columns)
    var entries = ExportedEntries(name, of: program)
    while let row = try reader.next() {
      // A spreadsheet's empty line, and one with nothing but white space.
      let isBlank = row.count == 1 && row[0].allSatisfy(\.isWhitespace)
      guard !isBlank, row.contains(where: { !$0.isEmpty }) else { continue }
      guard row.count == columns.count else {
        throw reader.undecodable(
          "the number of fields is \(row.count), and the number of columns \(columns.count)")
      }
      let fields = zip(columns, zip(written, row)).filter { column, _ in
        !ignored.contains(column) && !naming.contains(column)
      }
      entries.add(
        path(Dictionary(uniqueKeysWithValues: zip(columns, row))),
        fields.map { column, field in
          ExportedEntries.Field(name: names[column] ?? field.0, value: field.1)
        })
    }
    return entries.store
  }
}
