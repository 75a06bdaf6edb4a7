/// Names may hold anything. None of it may act on a terminal, or end a field or a line.
extension String {
  /// The text with what would act on a terminal made visible: `\n`, `\t`, `\u{1b}`.
  ///
  /// Newlines are kept for texts that are several lines by themselves; backslashes are escaped for data,
  /// which makes it reversible.
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
  /// Controls, among them escape and the C1 set; formats, which reorder or hide text; and
  /// separators of lines.
  package var actsOnTerminals: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
