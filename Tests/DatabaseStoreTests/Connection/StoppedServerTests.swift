import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Servers that stand still, which neither libpq nor the kernel notices, and servers that die.
@Suite(.onOwnThread) struct StoppedServerTests {
  @Test(arguments: [DatabaseStatement.Effect.read, .write])
  func `a server's process that stands still costs no more than the deadline`(
    effect: DatabaseStatement.Effect
  ) async throws {
    let server = try await DatabaseServer.shared()
    let connection = try server.open()
    let process = try #require(connection.serverProcess)
    server.signal(SIGSTOP, process: process)
    defer { server.signal(SIGCONT, process: process) }
    let deadline = ContinuousClock.now + .milliseconds(200)
    let error = failure(by: deadline) {
      try connection.run("SELECT 1", as: effect, until: deadline)
    }
    guard case .noAnswer(.deadline) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(ContinuousClock.now >= deadline)
    #expect(error.code(effect) == (effect == .read ? .timedOut : .outcomeUnknown))
    #expect(!connection.isUsable)
  }

  @Test func `a change that was not sent as a whole was not made`() async throws {
    let server = try await DatabaseServer.shared()
    let connection = try server.open()
    let process = try #require(connection.serverProcess)
    let table = "public.t\(UInt64.random(in: 0...(.max)))"
    try connection.run("CREATE TABLE \(table) (v bytea)", as: .write)
    server.signal(SIGSTOP, process: process)
    // More than the kernel takes.
    var parameters = StatementParameters()
    parameters.append([UInt8](repeating: 7, count: 64 << 20))
    let deadline = ContinuousClock.now + .milliseconds(500)
    let insert = DatabaseStatement(name: nil, text: "INSERT INTO \(table) VALUES ($1)")
    let error = failure(by: deadline) {
      try connection.run(insert, parameters, as: .write, until: deadline)
    }
    #expect(error?.kind == .timedOut && error.code(.write) == .timedOut)
    server.signal(SIGCONT, process: process)
    try await wait(until: "the server's process has ended") {
      try await server.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") == "0"
    }
    #expect(try await server.ask("SELECT count(*) FROM \(table)") == "0")
  }

  @Test func `a server that stands still is not waited for, and one that died is gone`()
    async throws
  {
    let server = try await DatabaseServer()
    let opening = try opening(server.address())
    let connection = try opening.open(until: later)
    server.signal(SIGSTOP, process: server.process)
    let deadline = ContinuousClock.now + .milliseconds(300)
    let error = failure(by: deadline) { try opening.open(until: deadline) }
    #expect(error?.kind == .timedOut && error.code(.write) == .timedOut)
    server.signal(SIGCONT, process: server.process)

    // A change is under way when the server dies.
    let process = try #require(connection.serverProcess)
    let outcome = Task {
      try await onThread {
        failure { try connection.run("SELECT pg_sleep(600)", as: .write) }
      }
    }
    try await wait(until: "the change is under way") {
      try await server.ask(
        "SELECT state FROM pg_stat_activity WHERE pid = \(process)") == "active"
    }
    server.crash()
    let broken = try await outcome.value
    #expect(broken?.kind == .noAnswer && broken.code(.write) == .outcomeUnknown)
    #expect(!connection.isUsable)
    #expect(failure { try opening.open(until: later) }.code(.write) == .unavailable)
    try await server.restart()
    _ = try opening.open(until: later)
  }
}
