import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Statements on one connection to a real server.
@Suite(.onOwnThread) struct StatementTests {
  @Test(arguments: [DatabaseStatement.Mode.named, .unnamed])
  func `every parameter arrives as it was sent`(mode: DatabaseStatement.Mode) async throws {
    let connection = try await DatabaseServer.shared().open(mode)
    var parameters = StatementParameters()
    parameters.append(true)
    parameters.append(Int16.min)
    parameters.append(Int32.max)
    parameters.append(Int64.min)
    parameters.append("Ünï'code\"")
    parameters.append([0, 255, 0] as [UInt8])
    parameters.append([] as [UInt8])
    parameters.append(transaction: 1 << 40)
    parameters.append(ByteBuffer([1, 2, 3, 4]), 1..<3)
    parameters.appendNull(.bytes)
    let statement = DatabaseStatement(
      name: "echo", text: "SELECT " + (1...10).map { "$\($0)" }.joined(separator: ", "))
    for _ in 0..<2 {
      let answer = try connection.run(statement, parameters, as: .read, until: later)
      #expect(answer.rowCount == 1)
      #expect(answer.bool(0, 0) == true)
      #expect(answer.integer(Int16.self, 0, 1) == .min)
      #expect(answer.integer(Int32.self, 0, 2) == .max)
      #expect(answer.integer(Int64.self, 0, 3) == .min)
      #expect(answer.text(0, 4) == "Ünï'code\"")
      #expect(answer.bytes(0, 5) == [0, 255, 0])
      #expect(answer.bytes(0, 6) == [])
      #expect(answer.integer(UInt64.self, 0, 7) == 1 << 40)
      #expect(answer.buffer(0, 8, isSecret: true)?.bytes(0..<2) == [2, 3])
      #expect(answer.bytes(0, 9) == nil)
      // What is not there, or is something else, is no value.
      #expect(answer.bytes(0, 10) == nil && answer.bytes(1, 0) == nil)
      #expect(answer.integer(Int64.self, 0, 2) == nil)
    }
    let prepared = try connection.run("SELECT count(*) FROM pg_prepared_statements")
    #expect(prepared.integer(Int64.self, 0, 0) == (mode == .named ? 1 : 0))
  }

  /// A pooler passes the connection on to others, whose plans are their own affair.
  @Test func `a prepared statement is planned once`() async throws {
    let connection = try await DatabaseServer.shared().open()
    let statement = DatabaseStatement(
      name: "few", text: "SELECT count(*) FROM unnest($1::int8[])")
    var parameters = StatementParameters()
    parameters.append([1, 2] as [Int64])
    for _ in 0..<3 { _ = try connection.run(statement, parameters, as: .read, until: later) }
    let plans = try connection.run(
      "SELECT generic_plans, custom_plans FROM pg_prepared_statements")
    #expect(plans.integer(Int64.self, 0, 0) == 3)
    #expect(plans.integer(Int64.self, 0, 1) == 0)
    let shared = try await DatabaseServer.shared().open(.unnamed)
    let mode = try shared.run("SELECT current_setting('plan_cache_mode')")
    #expect(mode.text(0, 0) == "auto")
  }

  @Test func `lists and large values arrive as they were sent`() async throws {
    let connection = try await DatabaseServer.shared().open()
    let large = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var parameters = StatementParameters()
    parameters.append([[], [1, 2], large])
    parameters.append([1, -2, 3] as [Int64])
    parameters.append([4, -5, 6] as [Int32])
    parameters.append([7, -8, 9] as [Int16])
    parameters.append([true, false, true])
    parameters.append([] as [Int64])
    let answer = try connection.run(
      DatabaseStatement(
        name: nil,
        text: """
          SELECT b, i, j, k, t, cardinality($6) FROM
            unnest($1, $2, $3, $4, $5) WITH ORDINALITY AS u(b, i, j, k, t, n) ORDER BY n
          """), parameters, as: .read, until: later)
    #expect(answer.rowCount == 3)
    #expect((0..<3).map { answer.bytes($0, 0) } == [[], [1, 2], large])
    #expect((0..<3).map { answer.integer(Int64.self, $0, 1) } == [1, -2, 3])
    #expect((0..<3).map { answer.integer(Int32.self, $0, 2) } == [4, -5, 6])
    #expect((0..<3).map { answer.integer(Int16.self, $0, 3) } == [7, -8, 9])
    #expect((0..<3).map { answer.bool($0, 4) } == [true, false, true])
    #expect(answer.integer(Int32.self, 0, 5) == 0)
  }

  @Test func `an error of the server quotes nothing, and the connection works on`() async throws {
    let connection = try await DatabaseServer.shared().open()
    try connection.run("CREATE TEMPORARY TABLE t (v text PRIMARY KEY)", as: .write)
    let insert = "INSERT INTO t VALUES ('s3cret')"
    try connection.run(insert, as: .write)
    let error = failure { try connection.run(insert, as: .write) }
    guard case .server(let state) = error else {
      Issue.record("not \(String(describing: error))")
      return
    }
    #expect(state.code == "23505")
    let shown = try #require(error).storeError(.write, store: "db")
    #expect(!"\(shown) \(String(reflecting: shown))".contains("s3cret"))
    #expect(try connection.run("SELECT 1").integer(Int32.self, 0, 0) == 1)
  }

  @Test func `a change that fails when it is committed was not made`() async throws {
    let connection = try await DatabaseServer.shared().open()
    try connection.run(
      "CREATE TEMPORARY TABLE t (v int UNIQUE DEFERRABLE INITIALLY DEFERRED)", as: .write)
    // Its row is returned before the constraint is checked.
    let error = failure {
      try connection.run("INSERT INTO t VALUES (1), (1) RETURNING v", as: .write)
    }
    #expect(error?.kind == .server)
    #expect(try connection.run("SELECT count(*) FROM t").integer(Int64.self, 0, 0) == 0)
  }

  @Test func `a warning makes the outcome of a change unknown, and only of a change`() async throws
  {
    let server = try await DatabaseServer.shared()
    for level in ["WARNING", "NOTICE"] {
      let connection = try server.open()
      let statement = "DO 'BEGIN RAISE \(level) ''x''; END'"
      try connection.run(statement, as: .read)
      #expect(connection.notices.map(\.severity) == [level])
      if level == "NOTICE" {
        try connection.run(statement, as: .write)
        #expect(connection.isUsable)
      } else {
        let error = failure { try connection.run(statement, as: .write) }
        #expect(error?.kind == .noAnswer && error.code(.write) == .outcomeUnknown)
        #expect(!connection.isUsable)
      }
    }
  }

  @Test func `a connection that the server has closed sends nothing more`() async throws {
    let server = try await DatabaseServer.shared()
    let connection = try server.open()
    let process = try #require(connection.serverProcess)
    try await server.ask("SELECT pg_terminate_backend(\(process), 60000)")
    let error = failure { try connection.run("SELECT 1", as: .write) }
    #expect(error?.kind == .notSent && error.code(.write) == .unavailable)
    #expect(!connection.isUsable)
  }

  @Test func `a notification arrives at once, and several count as one`() async throws {
    let server = try await DatabaseServer.shared()
    let (listener, other) = (try server.open(), try server.open())
    let channel = "a \"channel\" \(UInt64.random(in: 0...(.max)))"
    try listener.listen(to: channel, until: later)
    #expect(try !listener.waitForNotification(until: .now + .milliseconds(20)))
    var parameters = StatementParameters()
    parameters.append(channel)
    let notify = DatabaseStatement(name: "notify", text: "SELECT pg_notify($1, '')")
    _ = try other.run(notify, parameters, as: .read, until: later)
    #expect(try listener.waitForNotification(until: later))
    #expect(try !listener.waitForNotification(until: .now))
    for _ in 0..<3 { _ = try other.run(notify, parameters, as: .read, until: later) }
    // Those that arrive with an answer count, too.
    try listener.run("SELECT pg_sleep(0.1)")
    #expect(try listener.waitForNotification(until: .now))
    #expect(try !listener.waitForNotification(until: .now))
  }

  @Test func `another descriptor ends the wait for a notification`() async throws {
    let listener = try await DatabaseServer.shared().open()
    let pipe = try ClosedPipe()
    try pipe.writer.write(contentsOf: Data([1]))
    let waker = pipe.reader.fileDescriptor
    #expect(try !listener.waitForNotification(or: waker, until: later))
    #expect(listener.isUsable)
  }

  @Test func `what the server says about itself is noted`() async throws {
    let server = try await DatabaseServer.shared()
    let connection = try server.open()
    #expect(connection.server.version.hasPrefix("PostgreSQL"))
    #expect(connection.server.settings.isDurable)
    #expect(connection.server.settings.notices == [.notReplicated])
    let difference = Double(connection.server.clock.now) / 1e6 - Date().timeIntervalSince1970
    #expect(abs(difference) < 5)
    for weak in ["off", "remote_write"] {
      let other = try server.open(.named, "options='-c synchronous_commit=\(weak)'")
      #expect(!other.server.settings.isDurable)
      let settings = "fsync is on, full_page_writes is on, synchronous_commit is \(weak)"
      #expect(other.server.settings.notices == [.notDurable(settings: settings)])
    }
  }

  /// Named ones, too: such a pooler is noticed only when it passes a statement to another
  /// connection, and a token may be spent by then.
  @Test(arguments: [DatabaseStatement.Mode.unnamed, .named])
  func `statements work through a pooler that passes them around`(
    _ mode: DatabaseStatement.Mode
  ) async throws {
    let server = try await DatabaseServer.shared()
    let pooler = try await Pooler(of: server)
    let address = server.address(port: pooler.port)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          try await onThread {
            let connection = try opening(address, mode).open(until: later)
            for step in 0..<50 {
              var parameters = StatementParameters()
              parameters.append(Int64(number * 1000 + step))
              let statement = DatabaseStatement(name: "echo", text: "SELECT $1")
              let answer = try connection.run(statement, parameters, as: .read, until: later)
              #expect(answer.integer(Int64.self, 0, 0) == Int64(number * 1000 + step))
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
