package import SessionToolsBase

/// A supply of fresh nonces, fetched many at a time and not with a system call for each.
///
/// A class, so that no two copies can give out the same nonce.
package final class NonceSupply {
  private static let largestBlockCount = 128

  private let random: any RandomSource
  private let block = ByteBuffer(byteCount: largestBlockCount * Sodium.nonceByteCount)
  /// The number still to be fetched for the current change; `.max` or less if it is not known.
  private var missingCount = 0
  private var filledByteCount = 0
  private var usedByteCount = 0

  /// - Parameter random: The source of the nonces.
  package init(random: any RandomSource) {
    self.random = random
  }

  /// Begins a change.
  ///
  /// Nonces that are left of an earlier change are never used: a forked child has them, too.
  ///
  /// - Parameter count: The number of nonces that will be needed; `.max` if it is not known.
  package func begin(_ count: Int) {
    (missingCount, filledByteCount, usedByteCount) = (count, 0, 0)
  }

  /// Writes the next nonce into a buffer.
  package func next(into buffer: ByteBuffer, at offset: Int) {
    if usedByteCount == filledByteCount {
      let count = min(max(1, missingCount), Self.largestBlockCount)
      missingCount -= count
      (filledByteCount, usedByteCount) = (count * Sodium.nonceByteCount, 0)
      random.fill(block, 0..<filledByteCount)
    }
    buffer.copy(block, usedByteCount..<usedByteCount + Sodium.nonceByteCount, to: offset)
    usedByteCount += Sodium.nonceByteCount
  }
}
