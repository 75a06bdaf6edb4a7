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

  /// Returns the fields of a query that have one value; see ``Fields``.
  package static func decode(_ query: some StringProtocol) -> [String: String] {
    Fields(query).values
  }

  /// The fields of a query, decoded as browsers do (WHATWG URL Standard, section 5.1): a `%`
  /// without two digits stands for itself, and bytes that are not UTF-8 for U+FFFD.
  ///
  /// A field that is not needed, such as a description in Latin-1, must not cost those that are. A
  /// name with several values has none, because readers differ in which one they take.
  struct Fields {
    fileprivate private(set) var values: [String: String] = [:]
    private var ambiguous: Set<String> = []

    init(_ query: some StringProtocol) {
      for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
        let parts = pair.split(
          separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = decodePart(parts[0])
        let value = parts.count > 1 ? decodePart(parts[1]) : ""
        if let other = values.updateValue(value, forKey: name), other != value {
          ambiguous.insert(name)
        }
      }
      for name in ambiguous { values[name] = nil }
    }

    subscript(name: String) -> String? { values[name] }

    /// Returns whether a name has several values that differ.
    func isAmbiguous(_ name: String) -> Bool { ambiguous.contains(name) }
  }

  private static func decodePart(_ part: some Collection<UInt8>) -> String {
    var bytes: [UInt8] = []
    var rest = part[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = encodedByte(rest) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func encodedByte(_ text: some Collection<UInt8>) -> UInt8? {
    let digits = text.prefix(2).compactMap {
      Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init)
    }
    return digits.count == 2 ? digits[0] << 4 | digits[1] : nil
  }
}
