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
    let characters = Array(text.utf8)
    // One more than can be needed, so that there is an address for an empty text.
    var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
    let byteCount = unsafe characters.withUnsafeBytes { characters in
      unsafe bytes.withUnsafeMutableBytes { bytes in
        unsafe decodeBase64(characters, into: bytes, variant)
      }
    }
    return byteCount.map { Array(bytes.prefix($0)) }
  }
}

/// Base64 with padding (RFC 4648, section 4).
enum Base64 {
  /// Decodes a part of a buffer into all of another one, and returns whether that can be done.
  static func decode(_ text: ByteBuffer, _ range: Range<Int>, into bytes: ByteBuffer) -> Bool {
    let byteCount = unsafe decodeBase64(
      UnsafeRawBufferPointer(start: text.pointer(to: range), count: range.count),
      into: UnsafeMutableRawBufferPointer(
        start: bytes.pointer(to: 0..<bytes.byteCount), count: bytes.byteCount),
      Int32(sodium_base64_VARIANT_ORIGINAL))
    return byteCount == bytes.byteCount
  }
}

/// Decodes characters, and returns the number of bytes; `nil` when they are not the one encoding of
/// any bytes, or there is no room for these.
private func decodeBase64(
  _ text: UnsafeRawBufferPointer, into bytes: UnsafeMutableRawBufferPointer, _ variant: Int32
) -> Int? {
  // libsodium 1.0.18 reads a byte above 127 as an A.
  guard unsafe text.allSatisfy({ $0 < 0x80 }), let place = bytes.baseAddress else {
    return nil
  }
  var byteCount = 0
  // It refuses other characters, a length that is not possible, and unused bits that are not zero.
  let result = unsafe sodium_base642bin(
    place.assumingMemoryBound(to: UInt8.self), bytes.count,
    text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, nil, &byteCount, nil,
    variant)
  return result == 0 ? byteCount : nil
}
