import SealedStore
import TestSupport
import Testing

/// Tests of work that is shared with a helper thread.
@Suite struct TwoThreadsTests {
  @Test(arguments: [0, 1, 2, 1000])
  func `every piece has its result, in the order of the pieces`(count: Int) {
    #expect(TwoThreads.map(count) { $0 } == Array(0..<count))
  }

  /// The pieces take so little time that the caller has done all of them before a helper comes.
  @Test func `a helper that comes too late leaves, and releases the work`() async throws {
    let isReleased = Locked(false)
    Self.map(100, holding: Work(isReleased))
    try await wait(until: "no helper is left") { isReleased.value }
  }

  private static func map(_ times: Int, holding work: Work) {
    for _ in 0..<times {
      _ = TwoThreads.map(2) { number in withExtendedLifetime(work) { number } }
    }
  }

  private final class Work: Sendable {
    private let isReleased: Locked<Bool>

    init(_ isReleased: Locked<Bool>) { self.isReleased = isReleased }

    deinit { isReleased.withLock { $0 = true } }
  }
}
