import Synchronization

/// What happened, in order, by whichever threads.
final class Recorder<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }

  func append(_ element: Element) {
    elements.withLock { $0.append(element) }
  }
}

/// Waits until something holds; only for what is under way already.
///
/// Looks so often rather than for so long: where other tests keep all threads busy, what is waited for
/// gets its turns as this does.
func waitUntil(_ condition: @Sendable () async -> Bool) async throws {
  for _ in 0..<30_000 {
    if await condition() { return }
    try await Task.sleep(for: .milliseconds(2))
  }
  throw NeverHappened()
}

struct NeverHappened: Error {}
