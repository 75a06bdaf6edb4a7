/// Where a person goes after a login to a web service.
enum ReturnAddress {
  /// Checks that an address cannot lead to another host (RFC 9700, section 4.11).
  ///
  /// Browsers take `//host`, `/\host` and, after removing tabs and line ends, `/<tab>/host` for
  /// another host; a web framework that resolves `/.//host` makes the first of it.
  ///
  /// - Throws: `invalidConfiguration`.
  static func check(_ text: String) throws(WebLoginError) {
    let path = text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let hasTwoSlashes = zip(path, path.dropFirst()).contains { ($0, $1) == (0x2F, 0x2F) }
    guard text.utf8.first == 0x2F, !hasTwoSlashes,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
    else {
      throw WebLoginError(
        .invalidConfiguration,
        "the address to return to after the login is not a path of this service",
        remedy: "Begin it with one slash, percent-encode it, and write no // and no \\ in it")
    }
  }
}
