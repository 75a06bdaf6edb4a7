import Foundation

/// The encoding `application/x-www-form-urlencoded`, as in OAuth's addresses and bodies (RFC 6749,
/// appendix B).
package enum Form {
  private static let plain = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

  /// Encodes a name or a value; a space becomes `%20`, which every server reads, unlike `+`.
  static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      if plain.contains(byte) {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return encoded
  }

  package static func encode(_ fields: [(name: String, value: String)]) -> String {
    fields.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
  }

  /// Decodes the fields of a query; `nil` when it is malformed or contains a name twice.
  package static func decode(_ query: some StringProtocol) -> [String: String]? {
    var fields: [String: String] = [:]
    for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decodePart(parts[0]), let value = decodePart(parts.dropFirst().first)
      else { return nil }
      guard fields.updateValue(value, forKey: name) == nil else { return nil }
    }
    return fields
  }

  private static func decodePart(_ part: (some Sequence<UInt8>)?) -> String? {
    guard let part else { return "" }
    var bytes: [UInt8] = []
    var rest = Array(part)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
        else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
  }
}
