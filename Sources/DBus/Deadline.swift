import Synchronization

/// When an operation has to have an answer.
package final class Deadline: Sendable {
  private let instant: Mutex<ContinuousClock.Instant>

  package init(in timeout: Duration) {
    instant = Mutex(.now + timeout)
  }

  /// The time until then; below zero when it is over.
  package var left: Duration { instant.withLock { $0 } - .now }

  /// Runs a closure whose time does not count.
  package func paused<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    let start = ContinuousClock.now
    defer {
      let duration = ContinuousClock.now - start
      instant.withLock { $0 += duration }
    }
    return try await body()
  }
}
