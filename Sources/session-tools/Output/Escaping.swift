/// Names may hold anything. None of it may act on a terminal, or end a field or a line.
extension String {
  /// The text with what would act on a terminal made visible: `\n`, `\t`, `\u{1b}`.
  ///
  /// Newlines are kept for whole messages of several lines; backslashes are escaped for data,
  /// which makes it reversible.
  func escapingControls(
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

  /// A JSON text with the controls that JSON itself allows in strings written as `\u009b`.
  var escapingControlsInJSON: String {
    var escaped = ""
    for scalar in unicodeScalars {
      guard scalar != "\n", scalar.actsOnTerminals else {
        escaped.unicodeScalars.append(scalar)
        continue
      }
      for unit in Character(scalar).utf16 {
        let digits = String(unit, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return escaped
  }
}

extension Unicode.Scalar {
  /// Controls, among them escape and the C1 set; formats, which reorder or hide text; and
  /// separators of lines.
  fileprivate var actsOnTerminals: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
