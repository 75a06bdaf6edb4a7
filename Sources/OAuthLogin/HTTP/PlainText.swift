/// Text from elsewhere, for messages that end up in terminals and logs.
package enum PlainText {
  private static let longest = 200

  /// Returns a text with `?` for everything but printable ASCII, and without its end if it is long.
  package static func shown(_ text: String) -> String {
    let characters = text.unicodeScalars.prefix(longest).map { scalar in
      (0x20...0x7E).contains(scalar.value) ? Character(scalar) : "?"
    }
    return String(characters) + (text.unicodeScalars.count > longest ? "…" : "")
  }
}
