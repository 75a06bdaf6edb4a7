import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Synchronization
import Testing

/// Probes of a store in a database.
@Suite(.onOwnThread) struct CheckTests {
  private static let day = Duration.seconds(86_400)

  @Test func `a store whose server runs is ready, and one whose server is gone is not`()
    async throws
  {
    let server = try await DatabaseServer()
    // Only the time of the check can end it.
    let made = try await StoreOnServer(on: server, timeout: Self.day)
    try await made.store.check(within: Self.day)
    server.crash()
    let error = await #expect(throws: StoreError.self) {
      try await made.store.check(within: .milliseconds(200))
    }
    #expect(error?.code == .unavailable)
    try await server.restart()
    try await made.store.check(within: .seconds(60))
  }

  @Test func `a store all of whose connections are in use is ready`() async throws {
    let server = try await DatabaseServer()
    var made = try await StoreOnServer(on: server)
    made.location.options.maximumConnectionCount = 1
    made.location.options.operationTimeout = Self.day
    let store = try made.reopened()
    let name = try ItemName("a", in: "com.example.check")
    // The one connection waits for a table that another transaction has, which waits for a lock.
    let holder = try server.open()
    try holder.run("SELECT pg_advisory_lock(7)")
    let table = "\(made.location.options.schema).item"
    let blocking = Task {
      try await server.ask("LOCK TABLE \(table); SELECT count(pg_advisory_lock(7)::text)")
    }
    func waiting() async throws -> String {
      try await server.ask("SELECT count(*) FROM pg_locks WHERE NOT granted")
    }
    try await wait(until: "the table is locked") { try await waiting() == "1" }
    let reading = Task { try await store.value(for: name) }
    try await wait(until: "the read waits for the table") { try await waiting() == "2" }
    try await store.check(within: .seconds(60))
    try holder.run("SELECT pg_advisory_unlock(7)")
    _ = try await blocking.value
    #expect(try await reading.value == nil)
  }

  @Test func `a locked store is not ready`() async throws {
    let made = try await StoreOnServer()
    made.store.lock()
    let error = await #expect(throws: StoreError.self) {
      try await made.store.check(within: Self.day)
    }
    #expect(error?.code == .locked)
  }

  @Test func `a notice that the owner knows is not reported`() async throws {
    let notices = Mutex<[DatabaseNotice]>([])
    let made = try await StoreOnServer(onNotice: { notice in notices.withLock { $0.append(notice) }
    })
    #expect(notices.withLock { $0.contains(.notReplicated) })
    var location = made.location
    location.options.knownNotices = [.notReplicated]
    notices.withLock { $0 = [] }
    _ = try location.reopened()
    #expect(notices.withLock { !$0.contains(.notReplicated) })
  }
}
