import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Streams of changes, where transactions end in another order than they began.
@Suite(.onOwnThread) struct `a follower of changes` {
  @Test func `misses none of those that take unequally long`() async throws {
    let made = try await StoreOnServer(on: DatabaseServer())
    try await made.runInChanges("PERFORM pg_sleep(random() ^ 4 * 0.1)")
    let listener = Listener(made.store.changes())
    try await listener.waitForBegin()
    let roundCount = TestSize.choose(small: 20, medium: 50, large: 2000)
    let stores = try (0..<4).map { _ in try made.reopened() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<16 {
        group.addTask {
          let store = stores[writer % stores.count]
          for round in 0..<roundCount {
            try await store.put("x", for: ItemName("\(writer) \(round)", in: "svc"))
          }
        }
      }
      try await group.waitForAll()
    }
    // When the last one was reported, nothing before it follows.
    let last = try ItemName("last", in: "svc")
    try await made.reopened().put("x", for: last)
    try await wait(until: "the last change is reported") { listener.reported.contains(last) }
    #expect(listener.count == 16 * roundCount + 1)
    // That anything may have changed would hide what was missed.
    #expect(listener.resynchronizationCount == 1)
    print("of \(16 * roundCount) changes by 16 writers with pauses, 0 were missed")
  }

  @Test func `reads everything again while a transaction hides changes, and says why`()
    async throws
  {
    let notices = Mutex<[DatabaseNotice]>([])
    var environment = DatabaseEnvironment()
    environment.hidingLimit = .milliseconds(500)
    let made = try await StoreOnServer(environment: environment) { notice in
      notices.withLock { $0.append(notice) }
    }
    let item = try ItemName("item", in: "svc")
    let listener = Listener(made.store.changes(of: [item]))
    try await listener.waitForBegin()
    let server = try await DatabaseServer.shared()
    let holding = try await server.open().hold("SELECT pg_current_xact_id()", server.open())
    try await made.store.put("x", for: item)
    try await wait(until: "the listener is told again") { listener.resynchronizationCount >= 3 }
    #expect(listener.count == 0)
    #expect(notices.withLock { $0.count { $0 == .delayedChanges } } == 1)
    try await holding.end()
    try await wait(until: "the change is reported") { listener.count == 1 }
  }

  @Test func `reads everything again, once, when the schema was restored from a dump`()
    async throws
  {
    let made = try await StoreOnServer()
    let (kept, other) = (try ItemName("kept", in: "svc"), try ItemName("other", in: "svc"))
    try await made.store.put("old", for: kept)
    let listener = Listener(made.store.changes())
    try await listener.waitForBegin()
    let server = try await DatabaseServer.shared()
    let dump = try await Program.run(
      "\(DatabaseServer.programs)/pg_dump",
      ["--schema=\(made.location.options.schema)", server.socketAddress()],
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
    try await made.store.put("new", for: kept)
    try await wait(until: "the change is reported") { listener.count == 1 }
    try await made.ask("DROP SCHEMA $ CASCADE")
    try await Program.run(
      "/usr/bin/psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-1", server.socketAddress()],
      input: dump, environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
    try await wait(until: "the listener is told") { listener.resynchronizationCount == 2 }
    let error = await #expect(throws: StoreError.self) { _ = try await made.store.text(for: kept) }
    #expect(error?.code == .corrupt)
    try await made.store.put("x", for: other)
    try await wait(until: "the change is reported") { listener.count == 2 }
    #expect(listener.resynchronizationCount == 2)
  }

  /// As after a sweep while this process could not look.
  @Test func `reads everything again, once, when removals were deleted that it has not seen`()
    async throws
  {
    var environment = DatabaseEnvironment()
    // Otherwise the transaction that is open meanwhile would be a reason.
    environment.hidingLimit = patience
    let made = try await StoreOnServer(environment: environment)
    let item = try ItemName("item", in: "svc")
    try await made.store.put("x", for: item)
    let listener = Listener(made.store.changes())
    try await listener.waitForBegin()
    let server = try await DatabaseServer.shared()
    let holding = try await server.open().hold("SELECT pg_current_xact_id()", server.open())
    try await made.store.remove(item)
    try await made.ask(
      """
      WITH d AS (DELETE FROM $.item RETURNING xid)
      UPDATE $.header SET swept = (SELECT xid FROM d)
      """)
    try await wait(until: "the listener is told") { listener.resynchronizationCount == 2 }
    try await holding.end()
    let other = try ItemName("other", in: "svc")
    try await made.store.put("x", for: other)
    try await wait(until: "the change is reported") { listener.reported.contains(other) }
    #expect(listener.resynchronizationCount == 2)
  }

  /// Those in a change would keep the server from committing several at once.
  @Test func `is notified by the processes that made changes, and not by each change`()
    async throws
  {
    let made = try await StoreOnServer()
    let item = try ItemName("item", in: "svc")
    let server = try await DatabaseServer.shared()
    let identifier = try #require(made.store.identity()?.split(separator: " ").last)
    let channel = "session_tools_\(identifier)"
    // Until the last change has been notified, which follows it by no more than a second.
    let psql = Task {
      try await Program.run(
        "/usr/bin/psql",
        [
          "-XAtq", "-c", "LISTEN \"\(channel)\"", "-c", "SELECT pg_sleep(10)", "-c", "SELECT 1",
          server.socketAddress(),
        ], environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
    }
    let observer = try server.open()
    try await wait(until: "psql listens") {
      try observer.run("SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(10)'")
        .rowCount > 0
    }
    let start = ContinuousClock.now
    while ContinuousClock.now < start + .seconds(1) { try await made.store.put("x", for: item) }
    let duration = ContinuousClock.now - start + .seconds(1)
    let notifications = try await psql.value.split(separator: "\n").filter {
      $0.contains(channel)
    }
    // One every 20 ms at most, by the connection that looks for changes.
    let mostCount = 2 + Int(duration / .milliseconds(20))
    #expect(1...mostCount ~= notifications.count)
    #expect(Set(notifications.map { $0.split(separator: " ").last }).count == 1)
  }
}
