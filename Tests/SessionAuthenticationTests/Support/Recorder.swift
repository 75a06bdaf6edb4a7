import Synchronization

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
/// The limit is a number of checks, not a time: if other tests keep all threads busy, the work gets
/// its turns as this function does.
func waitUntil(_ condition: @Sendable () async -> Bool) async throws {
  for _ in 0..<30_000 {
    if await condition() { return }
    try await Task.sleep(for: .milliseconds(2))
  }
  throw NeverHappened()
}

struct NeverHappened: Error {}
