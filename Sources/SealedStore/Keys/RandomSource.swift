package import SecretStores

/// The source of nonces, keys and identifiers.
///
/// Tests replace it, so that test vectors are the same every time.
package protocol RandomSource: Sendable {
  /// Fills a range with random bytes.
  func fill(_ buffer: ByteBuffer, _ range: Range<Int>)
}

/// The system's random number generator, through libsodium.
package struct SystemRandomSource: RandomSource {
  package init() {}

  package func fill(_ buffer: ByteBuffer, _ range: Range<Int>) {
    Sodium.fillRandomly(buffer, range)
  }
}

extension RandomSource {
  package func bytes16() -> Bytes16 {
    let buffer = ByteBuffer(byteCount: 16)
    fill(buffer, 0..<16)
    return Bytes16(buffer, at: 0)
  }

  func bytes(_ count: Int) -> [UInt8] {
    let buffer = ByteBuffer(byteCount: count)
    fill(buffer, 0..<count)
    return buffer.bytes(0..<count)
  }

  package func fill(_ key: KeyBytes) {
    let buffer = ByteBuffer(byteCount: key.byteCount, isSecret: true)
    fill(buffer, 0..<key.byteCount)
    key.copy(from: buffer, at: 0)
  }
}
