import SessionToolsBase

/// Random words and the S256 challenge of a proof key (RFC 7636).
enum ProofKey {
  /// Returns 32 random bytes in Base64: the 43 characters that RFC 7636, section 4.1, recommends
  /// for a verifier, and equally suitable for a state or a nonce.
  static func randomWord() -> SecretBytes {
    var bytes = Sodium.randomBytes(32)
    defer { Sodium.wipe(&bytes) }
    var word = Base64URL.encode(bytes)
    defer { Sodium.wipe(&word) }
    return SecretBytes(word)
  }

  /// Returns BASE64URL(SHA256(verifier)), RFC 7636, section 4.2.
  static func challenge(of verifier: SecretBytes) -> String {
    var bytes = verifier.copyBytes()
    defer { Sodium.wipe(&bytes) }
    return String(decoding: Base64URL.encode(Sodium.sha256(bytes)), as: UTF8.self)
  }
}

extension SecretBytes {
  /// A copy as a string, for addresses and bodies that are strings; it is never wiped.
  var text: String { String(decoding: copyBytes(), as: UTF8.self) }
}
