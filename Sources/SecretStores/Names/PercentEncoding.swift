/// Percent-encoding, as in addresses (RFC 3986, section 2.1).
package enum PercentEncoding {
  /// Writes every byte of some characters as `%` and two uppercase hexadecimal digits.
  package static func encode(_ text: String, where isEncoded: (Unicode.Scalar) -> Bool) -> String {
    var encoded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      guard isEncoded(scalar) else {
        encoded.append(scalar)
        continue
      }
      for byte in String(scalar).utf8 {
        let digits = String(byte, radix: 16, uppercase: true)
        encoded.append(contentsOf: (byte < 16 ? "%0" : "%").unicodeScalars)
        encoded.append(contentsOf: digits.unicodeScalars)
      }
    }
    return String(encoded)
  }

  /// Returns the text with this encoding; `nil` if it is malformed.
  package static func decode(_ text: String) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
  }
}

extension Unicode.Scalar {
  /// Whether it is a letter, a digit or one of `-._~`: what addresses never encode (RFC 3986,
  /// section 2.3).
  package var isUnreserved: Bool {
    switch self {
    case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": true
    default: false
    }
  }
}
