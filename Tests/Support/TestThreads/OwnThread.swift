import SessionToolsBase
package import Testing

/// Runs each test of a suite on a thread outside of the pool.
///
/// For tests that compute for long, or wait for processes. The pool has a thread for each
/// processor, and that many of these tests would leave all others without one for minutes.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing body: @Sendable @concurrent () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(QueueExecutor("session-tools.test")) {
      try await body()
    }
  }
}

extension Trait where Self == OwnThread {
  package static var onOwnThread: Self { Self() }
}
