import CSessionToolsSodium

/// Base64 for URLs and cookies, without padding (RFC 4648, section 5).
enum Base64URL {
  private static let variant = Int32(sodium_base64_VARIANT_URLSAFE_NO_PADDING)

  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    defer { unsafe sodium_memzero(&text, text.count) }
    unsafe sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
    return text.dropLast().map { UInt8(bitPattern: $0) }
  }

  /// Decodes a text; `nil` when it is not the one encoding of any bytes.
  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let characters = text.utf8.map { CChar(bitPattern: $0) }
    // libsodium 1.0.18 reads a byte above 127 as an A.
    guard characters.allSatisfy({ $0 >= 0 }) else { return nil }
    // One more than can be needed, so that there is an address for an empty text.
    var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
    var byteCount = 0
    // It refuses other characters, an impossible length, and unused bits that are not zero.
    let result = unsafe sodium_base642bin(
      &bytes, bytes.count, characters, characters.count, nil, &byteCount, nil, variant)
    return result == 0 ? Array(bytes.prefix(byteCount)) : nil
  }
}
