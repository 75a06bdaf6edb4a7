import Foundation
import SessionToolsBase
package import Testing

/// Runs each test of a suite on a thread outside of the pool, and writes how long it took into the
/// file that `SESSION_TOOLS_TEST_TIMES` names, for `Tests/Tools/slowest`.
///
/// For tests that compute for long, or wait for processes. The pool has a thread for each
/// processor, and that many of these tests would leave all others without one for minutes.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing body: @Sendable @concurrent () async throws -> Void
  ) async throws {
    let begin = ContinuousClock.now
    defer { Self.record(ContinuousClock.now - begin, of: test) }
    try await withTaskExecutorPreference(BlockingExecutor(maximumThreadCount: 1)) {
      try await body()
    }
  }

  private static func record(_ time: Duration, of test: Test) {
    guard let path = ProcessInfo.processInfo.environment["SESSION_TOOLS_TEST_TIMES"],
      let file = unsafe fopen(path, "a")
    else { return }
    unsafe fputs("\(time / .seconds(1))\t\(test.id)\n", file)
    unsafe fclose(file)
  }
}

extension Trait where Self == OwnThread {
  package static var onOwnThread: Self { Self() }
}
