import Foundation
import SecretStores

/// The pauses between attempts: 5 ms at first, then growing to 250 ms, each by chance up to half
/// as long again, so that many who failed together do not return together.
struct RetryPause {
  private var length = Duration.milliseconds(5)
  private static let longest = Duration.milliseconds(250)

  /// Returns the next pause; `nil` when the deadline has passed.
  mutating func next(until deadline: ContinuousClock.Instant) -> Duration? {
    let left = deadline - .now
    guard left > .zero else { return nil }
    let pause = length * Double.random(in: 1...1.5)
    length = min(length * 2, Self.longest)
    return min(pause, left)
  }

  /// Blocks the thread for the next pause; returns `false` when the deadline has passed.
  mutating func wait(until deadline: ContinuousClock.Instant) -> Bool {
    guard let pause = next(until: deadline) else { return false }
    Thread.sleep(forTimeInterval: pause / .seconds(1))
    return true
  }
}
