import SessionToolsBase

/// Fresh nonces, fetched many at a time and not with a call to the system for each.
///
/// A class, so that no two copies can give out the same nonce. Not kept from one change to the
/// next, so that no forked child can either.
final class NonceSupply {
  private static let largestBlockCount = 128

  private let random: any RandomSource
  private let block: ByteBuffer
  private var usedByteCount: Int

  /// - Parameters:
  ///   - count: How many nonces will be needed, as far as known.
  ///   - random: Where they come from.
  init(_ count: Int, random: any RandomSource) {
    self.random = random
    block = ByteBuffer(
      byteCount: min(max(1, count), Self.largestBlockCount) * Sodium.nonceByteCount)
    usedByteCount = block.byteCount
  }

  /// Writes the next nonce into a buffer.
  func next(into buffer: ByteBuffer, at offset: Int) {
    if usedByteCount == block.byteCount {
      random.fill(block, 0..<block.byteCount)
      usedByteCount = 0
    }
    buffer.copy(block, usedByteCount..<usedByteCount + Sodium.nonceByteCount, to: offset)
    usedByteCount += Sodium.nonceByteCount
  }
}
