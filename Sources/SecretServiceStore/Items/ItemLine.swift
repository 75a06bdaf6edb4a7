package import SecretStores

/// The secret of one item in the service: one line of ASCII.
///
/// `session-tools:1:` and, in Base64, length of the name 4 ‖ name in its canonical encoding ‖ value
/// ‖ SHA-256 of all that.
///
/// Providers treat a secret as text, whatever its type: they stop at a NUL, change bytes that are
/// not UTF-8, and one of them cannot read its own file again after a newline. The line contains the
/// name, so a value moved to another name is noticed.
package enum ItemLine {
  private static let prefix = "session-tools:1:"
  private static let anyPrefix = "session-tools:"

  package static func encode(_ value: SecretBytes, for name: ItemName) -> ByteBuffer {
    let nameByteCount = name.canonicalByteCount
    let valueEnd = 4 + nameByteCount + value.byteCount
    let content = ByteBuffer(byteCount: valueEnd + Checksum.byteCount, isSecret: true)
    content.store(UInt32(nameByteCount), at: 0)
    name.storeCanonical(in: content, at: 4)
    content.copy(value, to: 4 + nameByteCount)
    content.copy(Checksum.sha256(content, 0..<valueEnd), 0..<Checksum.byteCount, to: valueEnd)
    let line = ByteBuffer(
      byteCount: prefix.utf8.count + Base64.byteCount(ofEncoded: content.byteCount),
      isSecret: true)
    line.copy(prefix, to: 0)
    Base64.encode(content, into: line, at: prefix.utf8.count)
    return line
  }

  /// The reason why a line cannot be read.
  package enum Defect: Error {
    case isNone, isNewer, isDamaged
  }

  /// Decodes a line.
  ///
  /// - Throws: The reason why it is not the line of an item.
  package static func decode(_ line: SecretBytes) throws(Defect) -> (
    name: ItemName, value: SecretBytes
  ) {
    try line.withBytes { bytes throws(Defect) in
      guard bytes.starts(with: anyPrefix) else { throw .isNone }
      guard bytes.starts(with: prefix) else { throw .isNewer }
      let text = bytes.extracting(prefix.utf8.count..<bytes.byteCount)
      guard let content = Base64.decode(text) else { throw .isDamaged }
      let byteCount = content.byteCount
      let valueEnd = byteCount - Checksum.byteCount
      guard valueEnd >= 4 else { throw .isDamaged }
      let checksum = Checksum.sha256(content, 0..<valueEnd)
      let nameByteCount = Int(content.load(UInt32.self, at: 0))
      guard content.isEqual(valueEnd..<byteCount, checksum), 4 + nameByteCount <= valueEnd,
        let name = ItemName(canonicalBytes: content.bytes(4..<4 + nameByteCount))
      else { throw .isDamaged }
      return (name, SecretBytes(in: content, 4 + nameByteCount..<valueEnd))
    }
  }
}

extension RawSpan {
  fileprivate func starts(with text: String) -> Bool {
    let expected = Array(text.utf8)
    guard byteCount >= expected.count else { return false }
    return expected.indices.allSatisfy {
      unsafe unsafeLoad(fromByteOffset: $0, as: UInt8.self) == expected[$0]
    }
  }
}
