import SessionToolsBase

extension String {
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
