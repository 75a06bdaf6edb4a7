import Synchronization
import Testing

/// Runs no more than a few tests with this trait at the same time.
///
/// Each starts a bus and one or two daemons. All at once, they would wait for each other for longer
/// than a store waits for its provider.
struct FewAtATime: SuiteTrait, TestTrait, TestScoping {
  private static let permits = Permits(4)

  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing body: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await body() }
    await Self.permits.take()
    defer { Self.permits.giveBack() }
    try await body()
  }
}

extension Trait where Self == FewAtATime {
  static var fewAtATime: Self { FewAtATime() }
}

private final class Permits: Sendable {
  private struct State {
    var left: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(_ count: Int) {
    state = Mutex(State(left: count))
  }

  func take() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.left > 0 {
          state.left -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func giveBack() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiting.isEmpty else {
        state.left += 1
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}
