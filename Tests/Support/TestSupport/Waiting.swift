package import Foundation

/// The error of a test that waited for something that did not happen.
package struct NeverHappened: Error {
  package let what: String

  package init(what: String) { self.what = what }
}

/// The time after which a test regards something as broken; only a fault takes that long.
package let patience = Duration.seconds(300)

/// The time that a loop has waited, counted from one check to the next.
///
/// One step counts for at most 30 seconds: a machine that stood still meanwhile, as a virtual one
/// does while it is moved, has not waited.
package struct Wait {
  private static let maximumStep = Duration.seconds(30)
  private let limit: Duration
  private var waited = Duration.zero
  private var last: Duration

  package init(atMost limit: Duration = patience) {
    self.init(atMost: limit, from: Self.now)
  }

  /// Whether the limit is reached; to be asked once in each turn of the loop.
  package mutating func isOver() -> Bool { isOver(at: Self.now) }

  package init(atMost limit: Duration, from start: Duration) {
    self.limit = limit
    last = start
  }

  package mutating func isOver(at now: Duration) -> Bool {
    waited += min(now - last, Self.maximumStep)
    last = now
    return waited >= limit
  }

  /// The time since the process began to wait; a machine that sleeps does not count it.
  private static let origin = SuspendingClock.now
  private static var now: Duration { SuspendingClock.now - origin }
}

/// Polls until a condition holds.
///
/// The time of the polls counts, too: some start a program.
package func wait(until what: String, _ isSo: () async throws -> Bool) async throws {
  var wait = Wait()
  while try await !isSo() {
    guard !wait.isOver() else { throw NeverHappened(what: what) }
    try await Task.sleep(for: .milliseconds(10))
  }
}

/// Polls until a condition holds, and blocks the thread meanwhile.
package func blockingWait(until what: String, _ isSo: () throws -> Bool) throws {
  var wait = Wait()
  while try !isSo() {
    guard !wait.isOver() else { throw NeverHappened(what: what) }
    Thread.sleep(forTimeInterval: 0.001)
  }
}
