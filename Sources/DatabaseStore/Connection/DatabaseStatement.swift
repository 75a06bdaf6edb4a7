/// A statement, whose parameters are always of the same types.
package struct DatabaseStatement: Sendable {
  /// The name under which a connection prepares it, which no other statement has; `nil` when it is
  /// sent too rarely for that.
  let name: String?
  let text: String
  /// How many bytes of rows a server may answer with that is what it should be.
  private let rowsByteCount: Int

  /// What a server may always send, such as a few rows and notices: 2 MiB.
  static let otherByteCount = 2 << 20

  /// How many bytes the answer may have.
  ///
  /// libpq keeps up to five times as many in memory, for rows
  /// with small values.
  var maximumByteCount: Int { max(Self.otherByteCount, rowsByteCount + (1 << 18)) }

  /// - Parameters:
  ///   - name: The name; `nil` for a statement that is sent rarely.
  ///   - text: The text.
  ///   - rowsByteCount: How many bytes the rows may have, if there may be many of them.
  package init(name: String?, text: String, rowsByteCount: Int = 0) {
    self.name = name
    self.text = text
    self.rowsByteCount = rowsByteCount
  }

  /// How statements are sent.
  package enum Mode: Sendable {
    /// Each connection prepares a statement when it first needs it.
    case named
    /// With its text each time, because a pooler may pass each to another connection of its own.
    case unnamed
  }

  /// What a statement does, which decides what a missing answer means.
  package enum Effect: Sendable {
    case read
    case write
  }
}
