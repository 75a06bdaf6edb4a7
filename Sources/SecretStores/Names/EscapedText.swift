/// Names may contain anything, but must not act on a terminal, or end a field or a line.
extension String {
  /// Makes characters visible that would act on a terminal: `\n`, `\t`, `\u{1b}`.
  ///
  /// Newlines can be kept for texts of several lines; backslashes are escaped for data, which makes
  /// the escaping reversible.
  package func escapingControls(
    keepingNewlines: Bool = false, escapingBackslashes: Bool = false
  ) -> String {
    var escaped = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n" where keepingNewlines: escaped.unicodeScalars.append(scalar)
      case "\n": escaped += "\\n"
      case "\t": escaped += "\\t"
      case "\\" where escapingBackslashes: escaped += "\\\\"
      case _ where scalar.actsOnTerminals: escaped += "\\u{\(String(scalar.value, radix: 16))}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

extension Unicode.Scalar {
  /// Whether the character is a control, including escape and the C1 set; a format, which reorders
  /// or hides text; or a line separator.
  package var actsOnTerminals: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
