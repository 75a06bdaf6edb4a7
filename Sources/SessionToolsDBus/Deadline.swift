import Synchronization

/// The time by which an operation must have an answer.
package final class Deadline: Sendable {
  private let instant: Mutex<ContinuousClock.Instant>

  package init(in timeout: Duration) {
    instant = Mutex(.now + timeout)
  }

  /// The time left; below zero when the deadline has passed.
  package var left: Duration { instant.withLock { $0 } - .now }

  /// Runs a closure whose duration does not count toward the deadline.
  package func paused<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    let start = ContinuousClock.now
    defer {
      let duration = ContinuousClock.now - start
      instant.withLock { $0 += duration }
    }
    return try await body()
  }
}
