import SessionToolsBase

/// Rows for a person on a terminal, or for a program.
struct Table {
  /// The least width of a last column that is not put on lines of its own.
  private static let narrowest = 20

  /// How many rows are aligned together when there may be any number.
  private static let maximumCount = 1000

  let columns: [String]
  var rows: [[String]] = []

  init(_ columns: [String]) {
    self.columns = columns
  }

  /// Writes aligned columns under their names on a terminal; otherwise one line per row, with
  /// fields separated by tabs and without names.
  ///
  /// On a terminal, columns without content are left out, and no line is longer than it is wide.
  ///
  /// In both, controls and backslashes in a field are escaped: `\t`, `\n`, `\\`, `\u{1b}`.
  func write() throws(StoreError) {
    guard !rows.isEmpty else { return }
    let rows = rows.map { row in
      row.map { $0.escapingControls(escapingBackslashes: true) }
    }
    let lines =
      StandardOutput.isTerminal
      ? Self.aligned(columns, rows, width: StandardOutput.columnCount)
      : rows.map { $0.joined(separator: "\t") }
    try StandardOutput.write(lines.joined(separator: "\n") + "\n")
  }

  /// Adds a row to a table of any length: after every 1,000, they are written, as a table of their
  /// own.
  ///
  /// - Throws: As writing to standard output.
  mutating func add(_ row: [String]) throws(StoreError) {
    rows.append(row)
    guard rows.count >= Self.maximumCount else { return }
    try write()
    rows = []
  }

  /// Returns the lines of a table.
  ///
  /// - Parameters:
  ///   - names: The names of the columns.
  ///   - rows: The rows, each with as many cells.
  ///   - width: The width of the terminal, if it is known.
  /// - Returns: The lines, the names first.
  static func aligned(_ names: [String], _ rows: [[String]], width: Int?) -> [String] {
    let used = names.indices.filter { column in rows.contains { !$0[column].isEmpty } }
    let all = ([names] + rows).map { row in used.map { row[$0] } }
    return lines(of: all, width: width ?? .max).flatMap(\.self)
  }

  /// Returns the lines of each row.
  ///
  /// What does not fit goes on in the last column; where that is too narrow, the last cell of each
  /// row is on lines of its own, below the others.
  private static func lines(of rows: [[String]], width: Int) -> [[String]] {
    guard let columnCount = rows.first?.count, columnCount > 0 else { return rows.map { _ in [] } }
    let widths = (0..<columnCount).map { column in rows.map { $0[column].count }.max() ?? 0 }
    let start = widths.dropLast().reduce(0) { $0 + $1 + 2 }
    guard columnCount == 1 || start + min(widths[columnCount - 1], narrowest) <= width else {
      return zip(lines(of: rows.map { $0.dropLast() }, width: width), rows).map { lines, row in
        guard let last = row.last, !last.isEmpty else { return lines }
        return lines + "    \(last)".wrapped(to: width, indentation: 4, breaksWords: true)
      }
    }
    return rows.map { row in
      let cells = zip(row, widths).dropLast().map { $0.padded(to: $1) }
      let head = (cells + [""]).joined(separator: "  ")
      let parts = (row.last ?? "").wrapped(to: max(width - start, 1), breaksWords: true)
      return parts.enumerated().map { number, part in
        ((number == 0 ? head : String(repeating: " ", count: start)) + part).withoutSpacesAtEnd
      }
    }
  }
}

extension ItemName {
  /// The names of the columns.
  static let columnNames = ["SERVICE", "GROUP", "INSTALL", "IDENTIFIER"]

  /// The parts of the name; a missing part is empty.
  var columns: [String] {
    [
      namespace.service, namespace.accessGroup ?? "", namespace.install?.rawValue ?? "",
      identifier,
    ]
  }
}
