import Foundation
import InMemoryLogging
import Logging
import Metrics
import MetricsTestKit
import SessionServiceAdapters
import SessionToolsBase
import Synchronization
import Testing

/// An item that has expired until it is refreshed.
struct Pass: Codable, ExpiringItem, Sendable {
  var text = "s3cret"
  var expirationDate: Date? = .distantPast

  static let renewed = Pass(expirationDate: .distantFuture)
}

/// An error whose description quotes a secret.
struct TalkativeError: Error, CustomStringConvertible {
  let description = "the server said no to s3cret"
}

func session(
  _ name: String, in store: some SecretStore = MemoryStore(),
  _ refresh: @escaping SessionRefresher<Pass>.Handler
) throws -> UserSession<Pass> {
  var policy = RefreshPolicy()
  policy.firstPause = .milliseconds(1)
  let session = UserSession(
    container: try StoreContainer<Pass>(store, service: "adapters"), storageIdentifier: name,
    refresher: SessionRefresher(policy: policy, refresh: refresh))
  try session.didLogIn(Pass())
  return session
}

/// The events of three sessions and a store, sent to swift-log and swift-metrics.
@Suite(.serialized) struct `the adapters of events` {
  private let handler: InMemoryLogHandler
  private let metrics = TestMetrics()

  init() async throws {
    var handler = InMemoryLogHandler()
    handler.logLevel = .trace
    self.handler = handler
    let log = SessionLog(Logger(label: "sessions") { [handler] _ in handler })
    let counts = SessionMetrics(factory: metrics)
    SessionEvent.observer = { event in
      log.record(event)
      counts.record(event)
    }
    defer { SessionEvent.observer = nil }

    let hasFailed = Atomic(false)
    let good = try session("good") { _ in
      if !hasFailed.exchange(true, ordering: .relaxed) { throw TalkativeError() }
      return .refreshed(.renewed)
    }
    _ = try await good.validItem()
    try await good.logOut()
    let rejected = try session("rejected") { _ in .rejected(TalkativeError()) }
    _ = try? await rejected.validItem()
    let failing = try session("failing") { _ in throw TalkativeError() }
    _ = try? await failing.validItem()
    let store = MemoryStore()
    let itemName = try ItemName("name", in: "adapters")
    try await store.withExclusiveAccess(to: itemName, timeout: .seconds(10)) {
      try? await store.withExclusiveAccess(to: itemName, timeout: .milliseconds(1)) {
        () async throws -> Void in
      }
    }
  }

  private func lines(_ name: String, _ value: String) -> [String] {
    handler.entries.filter { $0.metadata[name] == .string(value) }.map {
      "\($0.level): \($0.message)"
    }.filter { !$0.contains("a refresh waited") }
  }

  @Test func `write a log, without the texts of errors`() {
    let good = lines("session", "good")
    #expect(good.count == 4)
    #expect(good.first == "debug: session good: a refresh has begun")
    #expect(good[1] == "info: session good: try 1 of a refresh has failed: TalkativeError")
    #expect(good[2].hasPrefix("debug: session good: the item was refreshed, after "))
    #expect(good.last == "info: session good: the user was signed out")
    let rejected = lines("session", "rejected")
    #expect(rejected.count == 3)
    #expect(rejected.dropFirst().allSatisfy { $0.hasPrefix("notice: ") })
    #expect(lines("session", "failing").last?.hasPrefix("warning: ") == true)
    #expect(lines("store", "memory").count == 1)
    #expect(!"\(handler.entries)".contains("s3cret"))
    let durations = handler.entries.compactMap { $0.metadata["duration"] }
    // On a busy machine, a refresh may also have waited.
    #expect(durations.count >= 4)
    for duration in durations { #expect((Double("\(duration)") ?? 0) > 0) }
  }

  @Test func `count and time`() throws {
    func count(_ name: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
      try metrics.expectCounter("session_tools_\(name)", dimensions).totalValue
    }
    #expect(try count("refreshes", [("outcome", "refreshed")]) == 1)
    #expect(try count("refreshes", [("outcome", "not_needed")]) == 0)
    #expect(try count("refreshes", [("outcome", "rejected")]) == 1)
    #expect(try count("refreshes", [("outcome", "failed")]) == 1)
    #expect(try count("refresh_failed_tries") == 6)
    #expect(try count("sign_outs", [("reason", "logged_out")]) == 1)
    #expect(try count("sign_outs", [("reason", "rejected")]) == 1)
    #expect(try count("store_notices") == 0)
    #expect(try metrics.expectMeter("session_tools_refreshes_under_way").lastValue == 0)
    #expect(try metrics.expectTimer("session_tools_refresh_duration").values.count == 3)
    let waits = try metrics.expectTimer("session_tools_lock_wait_duration").values
    #expect(waits.count == 1 && waits[0] >= 1_000_000)
  }
}
