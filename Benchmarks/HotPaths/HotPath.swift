import Foundation
import HotPathLimit

/// Something that happens for every item, and the least that has to be done for it.
struct HotPath {
  let name: String
  /// The length of the encoded item.
  let byteCount: Int
  /// How often each side is called for one time.
  var batchCount = 1
  let ours: () throws -> Void
  let limit: () throws -> Void

  /// What was measured, in nanoseconds a call.
  struct Result: Encodable {
    let operation: String
    let bytes: Int
    let ours: [Double]
    let limit: [Double]
    /// How often the thread asked for memory, a call.
    let allocations: Int
    let limitAllocations: Int
  }

  /// Times both sides by turns, each first in every other pair.
  ///
  /// - Parameters:
  ///   - pairCount: How many pairs, 1 or more.
  ///   - batchTime: How long one side of a pair takes, about.
  /// - Returns: The times, and how often memory was asked for.
  /// - Throws: What either side throws.
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
    // The first calls set up what later ones find.
    _ = try time(ours)
    _ = try time(limit)
    while true {
      let nanoseconds = try calibrated.time(ours) * Double(calibrated.batchCount)
      if nanoseconds >= batchTime / .nanoseconds(1) { return calibrated.batchCount }
      calibrated.batchCount *= 2
    }
  }

  /// By the suspending clock, which on Linux is `CLOCK_MONOTONIC`.
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
