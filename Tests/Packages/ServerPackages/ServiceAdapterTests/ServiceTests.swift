import Foundation
import Logging
import ServiceLifecycle
import SessionServiceAdapters
import SessionToolsBase
import Testing

/// Each test has a process of its own, because no refresh begins after the end.
@Suite struct `a service of a group` {
  @Test func `that is ended by SIGTERM returns when the answer is stored`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let store = MemoryStore()
      // The server takes longer than the group needs to shut down.
      let (session, asked) = try await refreshing(in: store, for: .milliseconds(300))
      let group = ServiceGroup(
        services: [SessionRefreshService(), Terminator()], gracefulShutdownSignals: [.sigterm],
        logger: Logger(label: "group"))
      try await group.run()

      // The answer is stored when the group ends, and not some time after that.
      let pass = try await storedPass(in: store)
      let isStored = pass.expirationDate == .distantFuture
      _ = try await asked.value
      let isEnded: Bool
      do {
        _ = try await session.validItem(.always)
        isEnded = false
      } catch SessionError.temporarilyFailed {
        isEnded = true
      }
      exit(isStored && isEnded ? 7 : 1)
    }
  }

  @Test func `that is cancelled with its group also stores the answer`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let store = MemoryStore()
      let (_, asked) = try await refreshing(in: store, for: .milliseconds(300))
      let group = ServiceGroup(
        services: [SessionRefreshService(), Failing()], logger: Logger(label: "group"))
      let hasFailed: Bool
      do {
        try await group.run()
        hasFailed = false
      } catch is Failing.Failure {
        hasFailed = true
      }
      let pass = try await storedPass(in: store)
      _ = try await asked.value
      exit(hasFailed && pass.expirationDate == .distantFuture ? 7 : 1)
    }
  }

  @Test func `that has too little time reports that`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      _ = try await refreshing(in: MemoryStore(), for: .seconds(600))
      let group = ServiceGroup(
        services: [SessionRefreshService(timeout: .milliseconds(50)), Terminator()],
        gracefulShutdownSignals: [.sigterm], logger: Logger(label: "group"))
      do {
        try await group.run()
      } catch let error as SessionRefreshService.NotEnded {
        exit(error.timeout == .milliseconds(50) ? 7 : 1)
      }
      exit(1)
    }
  }
}

/// Returns a session with a slow refresh that has begun, and the task that waits for it.
private func refreshing(
  in store: MemoryStore, for duration: Duration
) async throws -> (session: UserSession<Pass>, asked: Task<Pass, any Error>) {
  let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
  let session = try session("user", in: store) { _ in
    beginning.finish()
    try await Task.sleep(for: duration)
    return .refreshed(.renewed)
  }
  let asked = Task { try await session.validItem() }
  for await _ in begun {}
  return (session, asked)
}

private func storedPass(in store: MemoryStore) async throws -> Pass {
  let stored = try await store.value(for: ItemName("user", in: "adapters"))
  return try JSONDecoder().decode(Pass.self, from: Data(stored?.copyBytes() ?? []))
}

/// Sends SIGTERM to its own process, as a supervisor does.
private struct Terminator: Service {
  func run() async throws {
    kill(getpid(), SIGTERM)
    try await gracefulShutdown()
  }
}

private struct Failing: Service {
  struct Failure: Error {}

  func run() async throws {
    throw Failure()
  }
}
