import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Each fault at each message between a client and a server, in both directions.
///
/// Whatever happens, an operation ends by its deadline, and what it says about a change is true.
@Suite(.onOwnThread) struct FaultTests {
  enum Kind: String, CaseIterable {
    case delay, cut, answerLost, half, blackHole

    var fault: FaultProxy.Fault {
      switch self {
      case .delay: .delay(.milliseconds(20))
      case .cut: .cut
      case .answerLost: .answerLost
      case .half: .half
      case .blackHole: .blackHole
      }
    }

    /// Only a message that goes nowhere has to be waited for.
    var deadline: ContinuousClock.Instant {
      self == .blackHole ? .now + .milliseconds(100) : later
    }
  }

  /// A server behind a proxy.
  private struct Line {
    let server: DatabaseServer
    let proxy: FaultProxy
    let opening: ConnectionOpening
    /// Another connection, which sees what is true.
    let observer: DatabaseConnection
    /// The name of the application in the server's list of connections, for this test alone.
    private let name = "faults \(UInt64.random(in: 0...(.max)))"

    init(_ more: String, host: String = "127.0.0.1") async throws {
      server = try await DatabaseServer.shared()
      proxy = try FaultProxy(to: server.port)
      opening = try DatabaseStoreTests.opening(
        server.address(
          user: "app", host: host, port: proxy.port, "application_name='\(name)' \(more)"))
      observer = try server.open()
    }

    /// Runs a closure for each message of an operation.
    func forEachMessage(
      of counts: FaultProxy.Counts, _ body: (FaultProxy.Direction, Int) async throws -> Void
    ) async throws {
      for direction in FaultProxy.Direction.allCases {
        for number in 0..<counts[direction] { try await body(direction, number) }
      }
    }

    /// Waits until neither the proxy nor a process of the server works for the application.
    func waitForEnd() async throws {
      try await wait(until: "the connections have ended") {
        guard proxy.isIdle else { return false }
        let text = "SELECT FROM pg_stat_activity WHERE application_name = '\(name)'"
        return try observer.run(text).rowCount == 0
      }
    }
  }

  /// Whether an operation may succeed in spite of a fault.
  private func mayEndWell(
    _ kind: Kind, _ direction: FaultProxy.Direction, isLast: Bool, _ proxy: FaultProxy
  ) -> Bool {
    // No answer follows the last one. With TLS, not every run has the same number of messages.
    kind == .delay || proxy.isPlanned || kind == .answerLost && direction == .toClient && isLast
  }

  @Test(arguments: Kind.allCases, [false, true])
  func `connecting`(kind: Kind, usesTLS: Bool) async throws {
    let authority = try await DatabaseServer.shared().authority
    let line = try await Line(
      usesTLS
        ? "hostaddr=127.0.0.1 sslmode=verify-full sslrootcert=\(authority)" : "sslmode=disable",
      host: usesTLS ? "localhost" : "127.0.0.1")
    line.proxy.plan(nil)
    var connection: DatabaseConnection? = try line.opening.open(until: later)
    let counts = line.proxy.counts
    #expect(connection?.usesTLS == usesTLS)
    #expect(counts.toServer > 5 && counts.toClient > 5)
    try await line.forEachMessage(of: counts) { direction, number in
      connection = nil
      try await line.waitForEnd()
      line.proxy.plan(kind.fault, at: number, direction)
      let deadline = kind.deadline
      let place = "\(direction) \(number)"
      do throws(DatabaseFailure) {
        connection = try line.opening.open(until: deadline)
        let isLast = number == counts[direction] - 1
        #expect(mayEndWell(kind, direction, isLast: isLast, line.proxy), "\(place)")
      } catch {
        let code = error.storeError(.write, store: "db").code
        #expect(kind != .delay, "\(place) \(error)")
        let isLate = kind == .blackHole && code == .timedOut
        let isDistrust = usesTLS && code == .accessDenied
        #expect(isLate || isDistrust || code == .unavailable, "\(place) \(error)")
        #expect([.notSent, .timedOut].contains(error.kind), "\(place) \(error)")
      }
      #expect(ContinuousClock.now < deadline + grace, "\(place)")
    }
  }

  @Test(arguments: Kind.allCases, [DatabaseStatement.Effect.read, .write])
  func `running a statement`(kind: Kind, effect: DatabaseStatement.Effect) async throws {
    let line = try await Line("sslmode=disable")
    let table = "public.t\(UInt64.random(in: 0...(.max)))"
    try line.observer.run("CREATE TABLE \(table) (v int8)", as: .write)
    try line.observer.run("GRANT ALL ON \(table) TO app", as: .write)
    let text =
      effect == .write
      ? "INSERT INTO \(table) VALUES ($1) RETURNING v" : "SELECT $1 FROM pg_class LIMIT 1"
    let statement = DatabaseStatement(name: "statement", text: text)
    var counts = FaultProxy.Counts()
    func run(_ value: Int64, _ prepare: () -> Void) throws -> DatabaseFailure? {
      // A statement that ended by its deadline may have left its fault to this connection.
      line.proxy.plan(nil)
      let connection = try line.opening.open(until: later)
      prepare()
      var parameters = StatementParameters()
      parameters.append(value)
      let deadline = value == 0 ? later : kind.deadline
      defer { #expect(ContinuousClock.now < deadline + grace, "\(value)") }
      do throws(DatabaseFailure) {
        let answer = try connection.run(statement, parameters, as: effect, until: deadline)
        #expect(answer.integer(Int64.self, 0, 0) == value)
        // Before the farewell.
        if value == 0 { counts = line.proxy.counts }
        return nil
      } catch {
        #expect(!connection.isUsable)
        return error
      }
    }
    let undisturbed = try run(0) { line.proxy.plan(nil) }
    #expect(undisturbed == nil)
    var value: Int64 = 0
    var madeUnknown = 0
    try await line.forEachMessage(of: counts) { direction, number in
      value += 1
      let error = try run(value) { line.proxy.plan(kind.fault, at: number, direction) }
      try await line.waitForEnd()
      let isMade =
        try line.observer.run("SELECT FROM \(table) WHERE v = \(value)").rowCount == 1
      let place = "\(direction) \(number): \(String(describing: error))"
      switch error?.kind {
      case nil:
        let isLast = number == counts[direction] - 1
        #expect(mayEndWell(kind, direction, isLast: isLast, line.proxy), "\(place)")
        #expect(isMade == (effect == .write), "\(place)")
      case .noAnswer:
        madeUnknown += isMade ? 1 : 0
        let expected: Set<StoreError.Code> =
          effect == .write ? [.outcomeUnknown] : [.timedOut, .unavailable]
        #expect(expected.contains(try #require(error.code(effect))), "\(place)")
      case .notSent, .timedOut:
        #expect(!isMade, "\(place)")
        #expect([.unavailable, .timedOut].contains(error.code(effect)), "\(place)")
      case .server: Issue.record("\(place)")
      }
      #expect(kind != .delay || error == nil, "\(place)")
    }
    // Otherwise the test would not see a wrong answer.
    if effect == .write, kind != .delay { #expect(madeUnknown > 0) }
  }
}
