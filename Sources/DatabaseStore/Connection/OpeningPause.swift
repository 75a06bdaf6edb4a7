/// How long to wait before the next attempt to connect: 50 ms after one failure, twice as long
/// after each further one, 5 s at most.
package struct OpeningPause {
  package init() {}

  private var failureCount = 0
  /// When the next attempt may begin.
  package private(set) var end: ContinuousClock.Instant?
  /// Why the last attempt failed.
  private(set) var failure: DatabaseFailure?

  private static let shortest = Duration.milliseconds(50)
  private static let longest = Duration.seconds(5)

  /// Whether one attempt at a time is made, because the last one failed.
  package var isActive: Bool { failureCount > 0 }

  package mutating func fail(_ failure: DatabaseFailure, at now: ContinuousClock.Instant = .now) {
    self.failure = failure
    end = now + min(Self.longest, Self.shortest * (1 << min(failureCount, 10)))
    failureCount += 1
  }

  package mutating func succeed() { self = OpeningPause() }
}
