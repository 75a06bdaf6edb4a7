import CSessionToolsSodium
import SessionToolsBase

/// The checksum of a header, which needs no key.
enum Checksum {
  /// Returns a header with the right checksum of its contents, which can be made without a key.
  static func repaired(_ header: [UInt8]) -> [UInt8] {
    let checked = header.count - 48
    let checksum = blake2b16(ByteBuffer(Array(header[..<checked])))
    return Array(header[..<checked]) + checksum + Array(header[(checked + 16)...])
  }

  static func blake2b16(_ buffer: ByteBuffer) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 16)
    let bytes = buffer.bytes(0..<buffer.byteCount)
    _ = unsafe crypto_generichash(&out, 16, bytes, UInt64(bytes.count), nil, 0)
    return out
  }
}
