import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Answers in which messages were changed at random.
@Suite(.onOwnThread) struct `mutated answers of a database` {
  /// The number of rounds, each with a connection of its own, in a process of its own.
  @Test func `are errors or true, and never end a process`() async throws {
    let made = try await StoreOnServer()
    try made.fill(20)
    let directory = try TemporaryDirectory()
    let key = try made.addKeyFile(in: directory)
    let server = try await DatabaseServer.shared()
    let seed = Int.random(in: 0..<1_000_000_000)
    let proxy = try await FalseDatabase(program: "MutatingDatabase", ["\(server.port)", "\(seed)"])
    let rounds = TestSize.choose(small: 40, medium: 200, large: 5000)
    let address = server.address(port: proxy.port, "sslmode=disable")
    let outcome = try await onThread {
      try Program.outcome(of: [
        BuildDirectory.program("SessionToolsDatabaseWorker"), "judge", address,
        made.location.options.schema,
        key.path, "1000", "30000", "\(rounds)",
      ])
    }
    let lines = outcome.text.split(separator: "\n")
    #expect(outcome.status == 0 && lines.count == 1, "seed \(seed): \(lines)")
    // Otherwise nothing was tried.
    let counts = lines.last?.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) } ?? []
    #expect(counts.count == 2 && !counts.contains(0), "seed \(seed): \(lines)")
  }
}
