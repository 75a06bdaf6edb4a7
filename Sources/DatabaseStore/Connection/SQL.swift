/// PostgreSQL's own operators and functions, named so that no one else's can take their place.
///
/// An operator or function without its schema is looked up in the whole search path, and one whose
/// types fit better than PostgreSQL's own is preferred: a user who may create operators in `public`
/// would run code as the user of the connection (CVE-2018-1058). The search path cannot be set
/// behind a pooler, so every statement names the schema. All operators written so have the same
/// precedence: parentheses decide.
enum SQL {
  static let equals = own("=")
  static let differs = own("<>")
  static let isBelow = own("<")
  static let isAtMost = own("<=")
  static let isAbove = own(">")
  static let isAtLeast = own(">=")
  static let plus = own("+")
  static let minus = own("-")
  static let times = own("*")
  static let dividedBy = own("/")
  static let concatenated = own("||")

  /// The prefix of PostgreSQL's functions, types and tables.
  static let catalog = "pg_catalog."

  private static func own(_ symbol: String) -> String { "OPERATOR(pg_catalog.\(symbol))" }

  /// The server's clock.
  static let now = "\(catalog)clock_timestamp()"

  /// The time of an expression in microseconds since 1970, or in milliseconds and so on.
  static func epoch(of time: String, in unitsPerSecond: Int) -> String {
    "(extract(epoch FROM \(time)) \(times) \(unitsPerSecond))::\(catalog)int8"
  }

  /// An interval of a number of microseconds.
  static func microseconds(_ number: String) -> String {
    "(\(number) \(times) interval '1 microsecond')"
  }

  /// The condition that two rows, as the prefixes of their columns, have the same values.
  static func same(_ columns: [String], _ left: String, _ right: String) -> String {
    columns.map { "\(left)\($0) \(equals) \(right)\($0)" }.joined(separator: " AND ")
  }

  /// The condition that two rows, as the prefixes of their columns, have the same address.
  static func sameAddress(_ left: String, _ right: String) -> String {
    same(["ns", "shard", "tag"], left, right)
  }

  /// The condition that a row has the address in three parameters, from the one with this number.
  static func hasAddress(_ row: String = "", _ first: Int = 1) -> String {
    "\(row)ns \(equals) $\(first) AND \(row)shard \(equals) $\(first + 1)"
      + " AND \(row)tag \(equals) $\(first + 2)"
  }

  /// The rows of some parameters, which are arrays, and the names of their columns.
  static func rows(
    of types: [String], from first: Int = 1, as columns: String, isNumbered: Bool = false
  ) -> String {
    // PostgreSQL takes several arrays only from its own function of that name.
    let arrays = types.enumerated().map { "\(catalog)unnest($\(first + $0)::\(catalog)\($1)[])" }
    return "ROWS FROM (\(arrays.joined(separator: ", ")))"
      + "\(isNumbered ? " WITH ORDINALITY" : "") AS \(columns)"
  }
}
