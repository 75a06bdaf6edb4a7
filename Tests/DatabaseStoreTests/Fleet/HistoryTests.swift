import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Everything that many processes saw and did, while processes and a server die.
@Suite(.onOwnThread) struct `the history of eight processes` {
  private static let roundCount = TestSize.choose(small: 1, medium: 1, large: 10)
  private static let killCount = TestSize.choose(small: 4, medium: 6, large: 30)
  private static let processCount = 8

  @Test func `has an order that explains it, with kills, pauses and a failover`() async throws {
    var primary = try await DatabaseServer()
    for round in 1...Self.roundCount {
      let standby = try await primary.makeStandby()
      let address =
        "host=127.0.0.1,127.0.0.1 port=\(primary.port),\(standby.port) user=postgres "
        + "dbname=postgres sslmode=disable"
      let fleet = try await Fleet(at: address, timeout: .seconds(2))
      let output = try TemporaryDirectory()
      try await disturb(fleet, output.path) {
        primary.crash()
        try await standby.promote()
      }
      let figures = try check(output.path, fleet.opened(timeout: .seconds(60)))
      print("history \(round): \(figures)")
      primary = standby
    }
  }

  /// Runs processes, some of which are killed or stopped for a while, and a failover among them.
  private func disturb(
    _ fleet: Fleet, _ output: String, failover: () async throws -> Void
  ) async throws {
    var random = SystemRandomNumberGenerator()
    var clientCount = 0
    func start() throws -> FleetWorker {
      defer { clientCount += 1 }
      return try fleet.start("history", "\(clientCount)", output)
    }
    var workers = try (0..<Self.processCount).map { _ in try start() }
    for worker in workers { try await worker.waitFor("opened") }
    for kill in 0..<Self.killCount {
      let stopped = workers[Int.random(in: 0..<workers.count, using: &random)]
      stopped.signal(SIGSTOP)
      try await Task.sleep(for: .milliseconds(Int.random(in: 50...400, using: &random)))
      if kill == Self.killCount / 2 { try await failover() }
      stopped.signal(SIGCONT)
      let killed = Int.random(in: 0..<workers.count, using: &random)
      #expect(workers[killed].kill().allSatisfy { $0 == "opened" })
      workers[killed] = try start()
      try await workers[killed].waitFor("opened")
    }
    for worker in workers { try worker.endInput() }
    for worker in workers {
      let ended = worker.waitUntilExit()
      #expect(ended.lines == ["opened", "ended"])
    }
  }

  private func check(_ output: String, _ store: SealedDatabaseStore) throws -> String {
    let files = try FileManager.default.contentsOfDirectory(atPath: output)
    var (count, changeCount, unknownCount) = (0, 0, 0)
    for group in 0..<SharedItems.groupCount {
      var history = try files.filter { $0.hasSuffix("-\(group)") }.flatMap {
        try HistoryFile.read(URL(filePath: "\(output)/\($0)"))
      }
      count += history.count
      changeCount += history.count { $0.kind == .change }
      unknownCount += history.count { $0.responded == .max }
      // What is read after everything is by a process that took no part.
      let items = try #require(try SharedItems.state(ofGroup: group, in: store))
      let end = monotonicTime()
      history.append(
        HistoryOperation(.observation, items, invoked: end, responded: end + 1))
      #expect(LinearizabilityChecker.violation(in: history) == nil, "group \(group)")
    }
    #expect(changeCount > 50 && count > 1000)
    return "one order explains \(count) operations, \(changeCount) of them changes, of which "
      + "\(unknownCount) have an unknown outcome"
  }
}
