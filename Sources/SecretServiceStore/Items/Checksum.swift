import CSessionToolsSecret
import Glibc
import SecretStores

/// SHA-256, computed by GLib.
enum Checksum {
  static let byteCount = 32

  static func hexadecimal(of bytes: [UInt8]) -> String {
    let text = unsafe g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes, gsize(bytes.count))
    defer { unsafe g_free(text) }
    return unsafe text.map { unsafe String(cString: $0) } ?? ""
  }

  /// Returns the 32 bytes of the checksum of a part of a buffer.
  static func sha256(_ buffer: ByteBuffer, _ range: Range<Int>) -> ByteBuffer {
    let checksum = unsafe g_checksum_new(G_CHECKSUM_SHA256)
    defer { unsafe g_checksum_free(checksum) }
    let start = unsafe buffer.pointer(to: range)
    unsafe g_checksum_update(
      checksum, start.assumingMemoryBound(to: guchar.self), gssize(range.count))
    withExtendedLifetime(buffer) {}
    let digest = ByteBuffer(byteCount: byteCount)
    var count = gsize(byteCount)
    let end = unsafe digest.pointer(to: 0..<byteCount)
    unsafe g_checksum_get_digest(checksum, end.assumingMemoryBound(to: guint8.self), &count)
    // GLib keeps a copy of the last bytes, less than a block of 64, and does not wipe it.
    let zeros = [guchar](repeating: 0, count: 63)
    unsafe g_checksum_reset(checksum)
    unsafe g_checksum_update(checksum, zeros, gssize(zeros.count))
    return digest
  }
}

/// Base64 with buffers that are wiped.
enum Base64 {
  static func byteCount(ofEncoded byteCount: Int) -> Int { (byteCount + 2) / 3 * 4 }

  /// Writes the encoding of a whole buffer into another.
  static func encode(_ bytes: ByteBuffer, into text: ByteBuffer, at offset: Int) {
    let count = byteCount(ofEncoded: bytes.byteCount)
    let source = unsafe bytes.pointer(to: 0..<bytes.byteCount)
    let target = unsafe text.pointer(to: offset..<offset + count)
      .assumingMemoryBound(to: CChar.self)
    var (state, save): (gint, gint) = (0, 0)
    let done = unsafe g_base64_encode_step(
      source.assumingMemoryBound(to: guchar.self), gsize(bytes.byteCount), 0, target, &state,
      &save)
    unsafe g_base64_encode_close(0, target + Int(done), &state, &save)
    withExtendedLifetime((bytes, text)) {}
  }

  /// Decodes a text; `nil` when it is not the exact encoding of any bytes.
  static func decode(_ text: RawSpan) -> ByteBuffer? {
    let decoded = ByteBuffer(byteCount: text.byteCount / 4 * 3 + 3, isSecret: true)
    let target = unsafe decoded.pointer(to: 0..<decoded.byteCount)
    var (state, save): (gint, guint) = (0, 0)
    let count = unsafe text.withUnsafeBytes { source in
      unsafe g_base64_decode_step(
        source.baseAddress?.assumingMemoryBound(to: CChar.self), gsize(source.count),
        target.assumingMemoryBound(to: guchar.self), &state, &save)
    }
    let bytes = ByteBuffer(byteCount: Int(count), isSecret: true)
    bytes.copy(decoded, 0..<Int(count), to: 0)
    // GLib skips invalid characters, and does not require a complete end.
    guard byteCount(ofEncoded: bytes.byteCount) == text.byteCount else { return nil }
    let encoded = ByteBuffer(byteCount: text.byteCount, isSecret: true)
    encode(bytes, into: encoded, at: 0)
    let isSame = unsafe text.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return true }
      return unsafe memcmp(start, encoded.pointer(to: 0..<source.count), source.count) == 0
    }
    return isSame ? bytes : nil
  }
}
