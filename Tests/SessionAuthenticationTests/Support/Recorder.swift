import Synchronization
import SessionToolsTestSupport

/// A record of events from any threads, in order.
final class Recorder<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }

  func append(_ element: Element) {
    elements.withLock { $0.append(element) }
  }
}

/// Waits until a condition holds; only for work that is already under way.
///
func waitUntil(_ condition: @Sendable () async -> Bool) async throws {
  try await wait(until: "the condition holds", condition)
}

struct NeverHappened: Error {}
