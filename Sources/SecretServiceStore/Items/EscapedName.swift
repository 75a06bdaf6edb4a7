import SecretStores

/// Names as providers keep them unchanged: one line of visible text.
///
/// Control characters, characters that change how others are shown, characters that XML cannot
/// contain, a percent sign, and spaces at either end are written as `%` and two digits for each
/// byte. So is an opening brace, with which KeePassXC's references to other entries begin.
package enum EscapedName {
  /// Escapes a name; a separator has a meaning of its own, and is also escaped.
  package static func escape(_ name: String, separator: Unicode.Scalar? = nil) -> String {
    var text = PercentEncoding.encode(name) { $0 == separator || !isPlain($0) }
    if text.unicodeScalars.first == " " { text = "%20" + String(text.unicodeScalars.dropFirst()) }
    if text.unicodeScalars.last == " " { text = String(text.unicodeScalars.dropLast()) + "%20" }
    return text
  }

  /// Returns the name with this escaped form; `nil` when there is no such name.
  package static func unescape(_ text: String, separator: Unicode.Scalar? = nil) -> String? {
    guard let name = PercentEncoding.decode(text),
      escape(name, separator: separator).utf8.elementsEqual(text.utf8)
    else { return nil }
    return name
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
      .surrogate:
      false
    case .spaceSeparator: scalar == " "
    default: scalar != "%" && scalar != "{"
    }
  }
}
