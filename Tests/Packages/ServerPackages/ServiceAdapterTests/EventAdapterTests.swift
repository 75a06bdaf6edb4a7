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
struct Pass: Codable, Equatable, ExpiringItem, Sendable {
  var text = "s3cret"
  var expirationDate: Date? = .distantPast

  static let renewed = Pass(expirationDate: .distantFuture)
}

/// An error whose description quotes a secret.
struct TalkativeError: Error, CustomStringConvertible {
  let description = "the server said no to s3cret"
}

/// How a log writes the account of an event.
@Suite struct `the account of an event` {
  private func entry(
    _ accounts: SessionLog.Accounts?, of account: String?
  ) throws -> Logger.Metadata {
    let handler = InMemoryLogHandler()
    let logger = Logger(label: "sessions") { _ in handler }
    let log = accounts.map { SessionLog(logger, accounts: $0) } ?? SessionLog(logger)
    let owner = try account.map { try AccountIdentifier($0) }
    log.record(.signedOut(session: .init("user", account: owner), .requested(nil)))
    let entries = handler.entries
    #expect(entries.count == 1)
    #expect(account.map { "\(entries[0].message)".contains($0) } != true)
    return entries[0].metadata
  }

  @Test func `is left out, unless the program asks for it`() throws {
    #expect(try entry(nil, of: "ada") == ["session": "user"])
    #expect(try entry(SessionLog.Accounts.none, of: "ada") == ["session": "user"])
    #expect(try entry(.plain, of: "ada\n") == ["session": "user", "account": "ada\\n"])
    #expect(try entry(.plain, of: nil) == ["session": "user"])
  }

  @Test func `is the same hash each time, with the same key`() throws {
    func hash(_ key: String, _ account: String) throws -> String? {
      let hash = try AccountHash(key: SecretBytes(utf8: key))
      let entry = try entry(.hashed(hash), of: account)
      #expect(entry["account"] == .string(hash(try AccountIdentifier(account))))
      return entry["account"].map { "\($0)" }
    }
    let key = "0123456789abcdef0123456789abcdef"
    let ada = try #require(try hash(key, "ada"))
    // printf %s ada | openssl mac -digest SHA256 -macopt key:$key HMAC
    #expect(ada == "7f06173e229c19dd")
    #expect(try hash(key, "ada") == ada)
    #expect(try hash(key, "bob") != ada)
    #expect(try hash("another key of sufficient length", "ada") != ada)
    let error = #expect(throws: StoreError.self) {
      try AccountHash(key: SecretBytes(utf8: "0123456789abcde"))
    }
    #expect(error?.code == .invalidKey)
  }

  /// Against the computation of Python, around the lengths at which blocks end.
  @Test func `is HMAC-SHA256, whatever the lengths are`() throws {
    let lengths = [1, 16, 54, 55, 56, 63, 64, 65, 119, 120, 128, 1000]
    let cases = lengths.flatMap { key in lengths.map { (max(key, 16), $0) } }
    let script = """
      import hmac, sys
      for line in sys.stdin:
        key, text = (bytes(i % 26 + 97 for i in range(int(n))) for n in line.split())
        print(hmac.new(key, text, "sha256").hexdigest()[:16])
      """
    let (input, output) = (Pipe(), Pipe())
    let python = Process()
    python.executableURL = URL(filePath: "/usr/bin/python3")
    python.arguments = ["-c", script]
    (python.standardInput, python.standardOutput) = (input, output)
    try python.run()
    let lines = cases.map { "\($0) \($1)\n" }.joined()
    try input.fileHandleForWriting.write(contentsOf: Data(lines.utf8))
    try input.fileHandleForWriting.close()
    let expected = String(
      decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self
    ).split(separator: "\n").map(String.init)
    python.waitUntilExit()
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 26 + 97) } }
    let found = try cases.map { key, text in
      try AccountHash(key: SecretBytes(bytes(key)))(
        AccountIdentifier(String(decoding: bytes(text), as: UTF8.self)))
    }
    #expect(found == expected)
  }
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
    try await good.signOut()
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
      try metrics.expectCounter("session_tools_\(name)_total", dimensions).totalValue
    }
    #expect(try count("refreshes", [("outcome", "refreshed")]) == 1)
    #expect(try count("refreshes", [("outcome", "not_needed")]) == 0)
    #expect(try count("refreshes", [("outcome", "rejected")]) == 1)
    #expect(try count("refreshes", [("outcome", "failed")]) == 1)
    #expect(try count("refresh_failed_tries") == 6)
    #expect(try count("sign_outs", [("reason", "requested")]) == 1)
    #expect(try count("sign_outs", [("reason", "rejected")]) == 1)
    #expect(try count("store_notices") == 0)
    #expect(try metrics.expectMeter("session_tools_refreshes_under_way").lastValue == 0)
    #expect(try metrics.expectTimer("session_tools_refresh_duration_seconds").values.count == 3)
    let waits = try metrics.expectTimer("session_tools_lock_wait_duration_seconds").values
    #expect(waits.count == 1 && waits[0] >= 1_000_000)
  }
}
