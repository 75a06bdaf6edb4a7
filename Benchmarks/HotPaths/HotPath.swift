import Foundation
import SessionToolsHotPathLimit

/// An operation that is done for every item, and the least work that it needs.
struct HotPath {
  let name: String
  /// The length of the encoded item.
  let byteCount: Int
  /// How often each side is called for one measured time.
  var batchCount = 1
  let ours: () throws -> Void
  let limit: () throws -> Void

  /// The measured times, in nanoseconds per call.
  struct Result: Encodable {
    let operation: String
    let bytes: Int
    let ours: [Double]
    let limit: [Double]
    /// How often the thread allocated memory in one call.
    let allocations: Int
    let limitAllocations: Int
  }

  /// Times both sides alternately, each first in every other pair.
  ///
  /// - Parameters:
  ///   - pairCount: The number of pairs, 1 or more.
  ///   - batchTime: The approximate duration of one side of a pair.
  /// - Returns: The times, and the numbers of allocations.
  /// - Throws: Any error that either side throws.
  func measured(pairCount: Int, batchTime: Duration) throws -> Result {
    var timed = self
    timed.batchCount = try calibrated(for: batchTime)
    var times: (ours: [Double], limit: [Double]) = ([], [])
    for pair in 0..<pairCount {
      for isOurs in pair.isMultiple(of: 2) ? [false, true] : [true, false] {
        if isOurs {
          times.ours.append(try timed.time(ours))
        } else {
          times.limit.append(try timed.time(limit))
        }
      }
    }
    return Result(
      operation: name, bytes: byteCount, ours: times.ours, limit: times.limit,
      allocations: try allocations(of: ours), limitAllocations: try allocations(of: limit))
  }

  private func calibrated(for batchTime: Duration) throws -> Int {
    var calibrated = self
    // The first calls do the setup that later calls skip.
    _ = try time(ours)
    _ = try time(limit)
    while true {
      let nanoseconds = try calibrated.time(ours) * Double(calibrated.batchCount)
      if nanoseconds >= batchTime / .nanoseconds(1) { return calibrated.batchCount }
      calibrated.batchCount *= 2
    }
  }

  /// Measures by the suspending clock, which on Linux is `CLOCK_MONOTONIC`.
  private func time(_ body: () throws -> Void) throws -> Double {
    let time = try SuspendingClock().measure {
      for _ in 0..<batchCount { try body() }
    }
    return time / .nanoseconds(1) / Double(batchCount)
  }

  private func allocations(of body: () throws -> Void) throws -> Int {
    let count = allocation_count()
    try body()
    return Int(allocation_count() - count)
  }
}
