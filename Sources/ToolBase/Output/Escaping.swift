import SessionToolsBase

extension String {
  /// The JSON text with an escape, such as `\u009b`, for every control that JSON allows in strings.
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
