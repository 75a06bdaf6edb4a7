import CSessionToolsSodium
import SecretStores

/// Base64 for URLs and file names, without padding (RFC 4648, section 5).
enum Base64URL {
  private static let variant = Int32(sodium_base64_VARIANT_URLSAFE_NO_PADDING)

  static func encode(_ bytes: [UInt8]) -> String {
    var text = [CChar](
      repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    unsafe sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
    return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Decodes a text; `nil` when it is not the one encoding of any bytes.
  static func decode(_ text: String) -> [UInt8]? {
    // libsodium 1.0.18 reads a byte above 127 as an A.
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    let characters = text.utf8.map { CChar(bitPattern: $0) }
    // One more than can be needed, so that there is an address for an empty text.
    var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
    var byteCount = 0
    // It refuses other characters, a length that is not possible, and unused bits that are
    // not zero.
    let result = unsafe sodium_base642bin(
      &bytes, bytes.count, characters, characters.count, nil, &byteCount, nil, variant)
    return result == 0 ? Array(bytes.prefix(byteCount)) : nil
  }
}

/// Base64 with padding (RFC 4648, section 4).
enum Base64 {
  /// Decodes a part of a buffer into all of another one, and returns whether that can be done.
  static func decode(_ text: ByteBuffer, _ range: Range<Int>, into bytes: ByteBuffer) -> Bool {
    // libsodium 1.0.18 reads a byte above 127 as an A.
    guard range.allSatisfy({ text.load(UInt8.self, at: $0) < 0x80 }) else { return false }
    var byteCount = 0
    let result = unsafe sodium_base642bin(
      bytes.pointer(to: 0..<bytes.byteCount).assumingMemoryBound(to: UInt8.self), bytes.byteCount,
      text.pointer(to: range).assumingMemoryBound(to: CChar.self), range.count, nil, &byteCount,
      nil, Int32(sodium_base64_VARIANT_ORIGINAL))
    return result == 0 && byteCount == bytes.byteCount
  }
}
