/// The reference of a named key in the form of this library's key sources: a scheme, a colon, and
/// what only the sources of that scheme understand.
package struct KeyReference: Hashable, Sendable {
  /// Lowercase letters, digits and hyphens, beginning with a letter, such as `fido2`.
  package let scheme: String
  /// What follows the colon.
  package let content: String

  /// Reads a reference; `nil` when it has another form.
  package init?(_ text: String) {
    // By bytes: a character may be a colon together with an accent behind it.
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    scheme = String(text[..<colon])
    content = String(text[text.utf8.index(after: colon)...])
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard let first = scheme.utf8.first, letters ~= first,
      scheme.utf8.allSatisfy({ letters ~= $0 || digits ~= $0 || $0 == UInt8(ascii: "-") })
    else { return nil }
  }

  /// Makes a reference to bytes, which become base64url without padding.
  package init(scheme: String, bytes: [UInt8]) {
    self.scheme = scheme
    content = Base64URL.encode(bytes)
  }

  /// The bytes that the content is the base64url of, without padding; `nil` when it is not their
  /// one encoding.
  package var bytes: [UInt8]? { Base64URL.decode(content) }

  /// The text in the key slot.
  package var text: String { "\(scheme):\(content)" }
}
