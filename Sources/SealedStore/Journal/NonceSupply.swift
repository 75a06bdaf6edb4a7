import SessionToolsBase

/// Fresh nonces, fetched many at a time and not with a call to the system for each.
///
/// A class, so that no two copies can give out the same nonce.
final class NonceSupply {
  private static let largestBlockCount = 128

  private let random: any RandomSource
  private let block = ByteBuffer(byteCount: largestBlockCount * Sodium.nonceByteCount)
  /// How many are still to be fetched for the change that was begun, as far as known.
  private var missingCount = 0
  private var filledByteCount = 0
  private var usedByteCount = 0

  /// - Parameter random: Where they come from.
  init(random: any RandomSource) {
    self.random = random
  }

  /// Begins a change.
  ///
  /// What is left of an earlier one is never used: a forked child has it, too.
  ///
  /// - Parameter count: How many nonces will be needed, as far as known.
  func begin(_ count: Int) {
    (missingCount, filledByteCount, usedByteCount) = (count, 0, 0)
  }

  /// Writes the next nonce into a buffer.
  func next(into buffer: ByteBuffer, at offset: Int) {
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
