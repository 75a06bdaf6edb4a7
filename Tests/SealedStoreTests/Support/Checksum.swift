import CSodium
import SessionToolsBase

/// The checksum of a header, which needs no key.
enum Checksum {
  static func blake2b16(_ buffer: ByteBuffer) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 16)
    let bytes = buffer.bytes(0..<buffer.byteCount)
    _ = unsafe crypto_generichash(&out, 16, bytes, UInt64(bytes.count), nil, 0)
    return out
  }
}
