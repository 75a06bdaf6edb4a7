import SessionToolsBase

/// The encoding `application/x-www-form-urlencoded`, as in OAuth's addresses and bodies (RFC 6749,
/// appendix B).
package enum Form {
  /// Encodes a name or a value; a space becomes `%20`, which every server reads, unlike `+`.
  static func encode(_ text: String) -> String {
    PercentEncoding.encode(text) { !$0.isUnreserved }
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
    let bytes = part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    return PercentEncoding.decode(String(decoding: bytes, as: UTF8.self))
  }
}
