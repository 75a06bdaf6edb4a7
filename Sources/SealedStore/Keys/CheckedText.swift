import SecretStores

/// The text of some bytes that are not secret, for people who copy it: a prefix and, in base64url
/// without padding, `bytes ‖ the first 4 bytes of HASH-16(no key, bytes)`.
struct CheckedText {
  private static let checkByteCount = 4

  /// Why a text cannot be read.
  enum Defect: Error {
    /// It is not such a text.
    case otherText
    /// A character of it was changed.
    case changed
  }

  let prefix: String
  /// The number of bytes without the check.
  let byteCount: Int

  func encode(_ bytes: [UInt8]) -> String { prefix + Base64URL.encode(bytes + check(of: bytes)) }

  func decode(_ text: String) throws(Defect) -> [UInt8] {
    guard text.utf8.starts(with: prefix.utf8),
      let decoded = Base64URL.decode(String(text.utf8.dropFirst(prefix.utf8.count)) ?? ""),
      decoded.count == byteCount + Self.checkByteCount
    else { throw .otherText }
    let bytes = Array(decoded.prefix(byteCount))
    guard decoded.suffix(Self.checkByteCount).elementsEqual(check(of: bytes)) else {
      throw .changed
    }
    return bytes
  }

  private func check(of bytes: [UInt8]) -> [UInt8] {
    let buffer = ByteBuffer(bytes)
    let hash = ByteBuffer(byteCount: 16)
    Sodium.hash16(buffer, 0..<buffer.byteCount, key: nil).store(in: hash, at: 0)
    return hash.bytes(0..<Self.checkByteCount)
  }
}
