import CSessionToolsSodium
import Foundation
import SessionToolsBase

/// Random words and the S256 challenge of a proof key (RFC 7636); the only file of this module that
/// calls libsodium.
enum ProofKey {
  /// Returns 32 random bytes in Base64: the 43 characters that RFC 7636, section 4.1, recommends
  /// for a verifier, and equally suitable for a state or a nonce.
  static func randomWord() -> SecretBytes {
    precondition(sodium_init() >= 0, "libsodium found no source of randomness")
    var bytes = [UInt8](repeating: 0, count: 32)
    unsafe randombytes_buf(&bytes, bytes.count)
    defer { unsafe sodium_memzero(&bytes, bytes.count) }
    return base64(bytes)
  }

  /// Returns BASE64URL(SHA256(verifier)), RFC 7636, section 4.2.
  static func challenge(of verifier: SecretBytes) -> String {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    var bytes = verifier.copyBytes()
    defer { unsafe sodium_memzero(&bytes, bytes.count) }
    _ = unsafe crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return base64(digest).text
  }

  /// Encodes in the alphabet for addresses, without padding.
  private static func base64(_ bytes: [UInt8]) -> SecretBytes {
    let variant = Int32(sodium_base64_VARIANT_URLSAFE_NO_PADDING)
    var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    defer { unsafe sodium_memzero(&text, text.count) }
    unsafe sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
    return SecretBytes(text.dropLast().map { UInt8(bitPattern: $0) })
  }
}

extension SecretBytes {
  /// A copy as a string, for addresses and bodies that are strings; it is never wiped.
  var text: String { String(decoding: copyBytes(), as: UTF8.self) }
}
