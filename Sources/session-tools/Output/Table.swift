import SessionToolsBase

/// Rows for a person on a terminal, or for a program.
struct Table {
  let columns: [String]
  var rows: [[String]] = []

  init(_ columns: [String]) {
    self.columns = columns
  }

  /// Writes aligned columns under their names on a terminal; otherwise one line per row, with
  /// fields separated by tabs and without names.
  ///
  /// In both, controls and backslashes in a field are escaped: `\t`, `\n`, `\\`, `\u{1b}`.
  func write() throws {
    guard !rows.isEmpty else { return }
    let rows = rows.map { row in
      row.map { $0.escapingControls(escapingBackslashes: true) }
    }
    let lines =
      StandardOutput.isTerminal
      ? aligned([columns] + rows) : rows.map { $0.joined(separator: "\t") }
    try StandardOutput.write(lines.joined(separator: "\n") + "\n")
  }

  private func aligned(_ rows: [[String]]) -> [String] {
    let widths = columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { cell, width in
        cell + String(repeating: " ", count: width - cell.count)
      }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }
}

extension StoreKey {
  /// The names of the columns.
  static let columnNames = ["SERVICE", "GROUP", "INSTALL", "IDENTIFIER"]

  /// The parts of the key; a missing part is empty.
  var columns: [String] {
    [
      namespace.service, namespace.accessGroup ?? "", namespace.install?.rawValue ?? "",
      identifier,
    ]
  }
}
