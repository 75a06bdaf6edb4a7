/// A code that a server gives with an error: five letters and digits, as in the SQL standard and in
/// PostgreSQL's appendix A.
///
/// It is all that is kept of a server's error: the text and the details may quote what was stored.
public struct SQLState: Error, Hashable, Sendable, CustomStringConvertible {
  /// The five characters, such as `23505`.
  public let code: String

  /// The five characters.
  public var description: String { "SQLSTATE \(code)" }

  init(_ code: String) {
    self.code = code
  }

  /// Parses what a server or a proxy sent; `nil` when it is not such a code.
  package init?(received text: some StringProtocol) {
    let isValid = { (byte: UInt8) in
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
    guard text.utf8.count == 5, text.utf8.allSatisfy(isValid) else { return nil }
    code = String(text)
  }

  /// Whether the code belongs to a class, its first two characters.
  func isIn(_ group: String) -> Bool { code.hasPrefix(group) }

  /// The transaction may or may not have been completed.
  static let completionUnknown = SQLState("40003")
  static let noDatabase = SQLState("3D000")
  static let wrongPassword = SQLState("28P01")
  /// The server accepts no changes.
  static let readOnly = SQLState("25006")
  static let duplicateSchema = SQLState("42P06")
  static let duplicateObject = SQLState("42710")
  /// A change of a store found something else than it expected, and was undone.
  static let divisionByZero = SQLState("22012")

  static func ~= (pattern: SQLState, state: SQLState) -> Bool { pattern == state }
}

extension Set<SQLState> {
  /// Codes of a statement that changed nothing and may succeed when it is sent again.
  ///
  /// A serialization failure, a deadlock, a lock that was not available, and a cancelled query.
  static let repeatable: Set = [
    SQLState("40001"), SQLState("40P01"), SQLState("55P03"), SQLState("57014"),
  ]

  /// Codes of a prepared statement that this connection of the server does not have, or has already
  /// by someone else.
  static let ofOtherConnection: Set = [SQLState("26000"), SQLState("42P05")]
}
