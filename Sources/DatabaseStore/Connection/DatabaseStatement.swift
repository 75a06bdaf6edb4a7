/// A statement, whose parameters are always of the same types.
package struct DatabaseStatement: Sendable {
  /// The name under which a connection prepares it, which no other statement has; `nil` when it is
  /// sent too rarely for that.
  let name: String?
  let text: String

  package init(name: String?, text: String) {
    self.name = name
    self.text = text
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
