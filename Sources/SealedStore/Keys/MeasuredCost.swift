import Foundation
package import SecretStores

/// The cost of a new passphrase slot when the caller does not choose one.
package struct MeasuredCost: Hashable, Sendable {
  package let passes: Int
  package let memoryByteCount: Int

  static let passes = 3...10
  static let maximumMemoryByteCount = 256 << 20
  private static let minimumMemoryByteCount = 64 << 20
  private static let target = Duration.seconds(1)

  static let noMemory = StoreError(
    .unavailable, store: StoreError.slotName,
    reason: "deriving the key needs \(minimumMemoryByteCount >> 20) MiB of memory, "
      + "which are not available")

  /// Measures which costs take about a second of processor time on this machine.
  ///
  /// - Returns: The costs to try, the highest first: the others are for a system that does not
  ///   provide that much memory.
  /// - Throws: `unavailable` when there is not even memory for the trial.
  package static func measured() throws(StoreError) -> [MeasuredCost] {
    // The shorter trial counts: the first use of memory and a busy cache only add to the time.
    let trial = min(try timeOfTrial(), try timeOfTrial())
    return costs(trial: trial, availableByteCount: AvailableMemory.byteCount())
  }

  /// Returns the costs that ``measured()`` derives from its measurements.
  ///
  /// - Parameters:
  ///   - trial: The processor time of the fewest passes over the least memory.
  ///   - availableByteCount: The memory available to the process; `nil` when it is not known.
  /// - Returns: The costs to try, the highest first.
  package static func costs(trial: Duration, availableByteCount: Int?) -> [MeasuredCost] {
    let sizes = [maximumMemoryByteCount, maximumMemoryByteCount / 2, minimumMemoryByteCount]
    return sizes.filter { size in
      size == minimumMemoryByteCount || size <= (availableByteCount ?? .max) / 4
    }.map { size in
      let pass = trial * (size / minimumMemoryByteCount) / passes.lowerBound
      let count = pass > .zero ? (target / pass).rounded() : .infinity
      return MeasuredCost(
        passes: Int(min(max(count, Double(passes.lowerBound)), Double(passes.upperBound))),
        memoryByteCount: size)
    }
  }

  private static func timeOfTrial() throws(StoreError) -> Duration {
    let key = try KeyBytes()
    let start = processorTime
    let isDerived = Sodium.deriveKey(
      passphrase: SecretBytes(utf8: "trial"),
      salt: [UInt8](repeating: 0, count: Passphrase.Parameters.saltByteCount),
      passes: UInt32(passes.lowerBound), memoryByteCount: minimumMemoryByteCount, into: key)
    guard isDerived else { throw noMemory }
    return processorTime - start
  }

  /// The processor time that this thread has used.
  private static var processorTime: Duration {
    var time = timespec()
    // This fails only for a clock that does not exist.
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
