/// Names as providers keep them unchanged: one line of visible text.
///
/// Control characters, characters that change how others are shown, characters that XML cannot
/// contain, a percent sign, and spaces at either end are written as `%` and two digits for each
/// byte. So is an opening brace, with which KeePassXC's references to other entries begin.
package enum EscapedName {
  /// Escapes a name; a separator has a meaning of its own, and is also escaped.
  package static func escape(_ name: String, separator: Unicode.Scalar? = nil) -> String {
    let scalars = Array(name.unicodeScalars)
    var text = String.UnicodeScalarView()
    for (position, scalar) in scalars.enumerated() {
      let isAtEnd = position == 0 || position == scalars.count - 1
      if scalar != separator, isPlain(scalar, isAtEnd: isAtEnd) {
        text.append(scalar)
      } else {
        for byte in String(scalar).utf8 {
          let digits = "\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
          text.append(contentsOf: "%\(digits)".unicodeScalars)
        }
      }
    }
    return String(text)
  }

  /// Returns the name with this escaped form; `nil` when there is no such name.
  package static func unescape(_ text: String, separator: Unicode.Scalar? = nil) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else { return nil }
      rest = rest.dropFirst(2)
      bytes.append(value)
    }
    guard let name = String(validating: bytes, as: UTF8.self),
      escape(name, separator: separator).utf8.elementsEqual(text.utf8)
    else { return nil }
    return name
  }

  private static func isPlain(_ scalar: Unicode.Scalar, isAtEnd: Bool) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
      .surrogate:
      false
    case .spaceSeparator: scalar == " " && !isAtEnd
    default: scalar != "%" && scalar != "{"
    }
  }
}
