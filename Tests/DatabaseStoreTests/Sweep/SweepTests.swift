import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Deleting the rows of items that were removed.
@Suite(.onOwnThread) struct `a sweep` {
  private let item: ItemName

  init() throws {
    item = try ItemName("item", in: "svc")
  }

  /// An environment in which removals may be swept as soon as a sweep has noted the time.
  private static var hasty: DatabaseEnvironment {
    var environment = DatabaseEnvironment.sweptByTest
    environment.retention = .zero
    return environment
  }

  private func rowCount(_ made: StoreOnServer) async throws -> String {
    try await made.ask("SELECT count(*) FROM $.item")
  }

  @Test func `deletes removals after an hour, and nothing else`() async throws {
    let made = try await StoreOnServer(environment: .sweptByTest)
    try made.fill(4)
    for number in 0..<2 { try await made.store.remove(ItemName("\(number)", in: "svc")) }
    #expect(try await made.sweep() == 0)
    try await made.ask("UPDATE $.horizon SET at = at - interval '59 minutes'")
    #expect(try made.store.sweep() == 0)
    try await made.ask("UPDATE $.horizon SET at = at - interval '1 minute 1 second'")
    // Removed after the time was noted.
    try await made.store.remove(ItemName("2", in: "svc"))
    #expect(try await made.sweep() == 2)
    #expect(try await rowCount(made) == "2")
    #expect(try await made.store.text(for: ItemName("3", in: "svc")) == "value 3")
    #expect(try await made.store.text(for: ItemName("0", in: "svc")) == nil)
    #expect(try await made.store.text(for: ItemName("2", in: "svc")) == nil)
    // Of the notes that are older than an hour, only the newest is needed.
    #expect(
      try await made.ask(
        "SELECT count(*) FROM $.horizon WHERE at < clock_timestamp() - interval '1 hour'") == "1")
  }

  @Test func `deletes many in several statements`() async throws {
    let made = try await StoreOnServer(environment: Self.hasty)
    try made.fill(2100)
    for start in stride(from: 0, to: 2100, by: 700) {
      let names = try (start..<start + 700).map { try ItemName("\($0)", in: "svc") }
      try await made.store.apply(names.map { .remove($0) })
    }
    #expect(try await made.sweep() == 2100)
    #expect(try await rowCount(made) == "0")
  }

  @Test func `is made by one machine for all, after one of them has changed items`()
    async throws
  {
    var environment = DatabaseEnvironment()
    environment.sweepDelay = .zero
    let made = try await StoreOnServer(environment: environment)
    let other = try made.reopened(environment: environment)
    try await made.store.put("x", for: item)
    try await wait(until: "the time is noted") {
      try await made.ask("SELECT count(*) FROM $.horizon") == "1"
    }
    try await other.put("y", for: item)
    _ = try other.sweep()
    #expect(try await made.ask("SELECT count(*) FROM $.horizon") == "1")
    // Another one is due.
    try await made.store.remove(item)
    try await made.ask(
      """
      UPDATE $.horizon SET at = at - interval '2 hours', xid = pg_current_xact_id()
      """)
    try await wait(until: "older transactions have ended") {
      try await made.ask(
        """
        SELECT count(*) FROM $.horizon WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())
        """) == "0"
    }
    let third = try made.reopened(environment: environment)
    try await third.put("z", for: ItemName("other", in: "svc"))
    try await wait(until: "the removal is deleted") { try await rowCount(made) == "1" }
  }

  @Test func `deletes the leases of processes that died an hour ago`() async throws {
    let made = try await StoreOnServer(environment: .sweptByTest)
    try await made.ask(
      """
      INSERT INTO $.lease SELECT 0, decode(repeat(n::text, 32), 'hex'), '\\x00', now() - age
      FROM unnest(ARRAY[interval '61 minutes', '59 minutes', '-1 minute'])
        WITH ORDINALITY AS l(age, n)
      """)
    _ = try made.store.sweep()
    #expect(try await made.ask("SELECT count(*) FROM $.lease") == "2")
  }

  @Test func `leaves a removal of a transaction that is under way`() async throws {
    let made = try await StoreOnServer(environment: Self.hasty)
    try await made.store.put("x", for: item)
    let server = try await DatabaseServer.shared()
    let holding = try await server.open().hold("SELECT pg_current_xact_id()", server.open())
    try await made.store.remove(item)
    #expect(try made.store.sweep() == 0)
    try await holding.end()
    #expect(try await made.sweep() == 1)
  }

  @Test func `forgets the times of another server in a restored database`() async throws {
    let made = try await StoreOnServer(environment: Self.hasty)
    // That server had come further in its transactions.
    try await made.ask(
      """
      INSERT INTO $.horizon VALUES (clock_timestamp() - interval '1 hour', '9000000000000');
      UPDATE $.header SET swept = '9000000000000'
      """)
    try await made.store.put("x", for: item)
    try await made.store.remove(item)
    #expect(try await made.sweep() == 1)
    #expect(try await made.ask("SELECT count(*) FROM $.horizon") == "1")
    let isSane = try await made.ask(
      "SELECT swept <= pg_snapshot_xmin(pg_current_snapshot()) FROM $.header")
    #expect(isSane == "t")
  }

  @Test func `lets a name that is made again go on upwards in its version`() async throws {
    let made = try await StoreOnServer(environment: Self.hasty)
    let other = try made.reopened()
    for text in ["one", "two", "three"] { try await made.store.put(text, for: item) }
    #expect(try await other.text(for: item) == "three")
    let before = try #require(Int64(try await made.ask("SELECT version FROM $.item")))
    try await made.store.remove(item)
    #expect(try await other.text(for: item) == nil)
    #expect(try await made.sweep() == 1)
    // Absent, removed and put again are true for those who saw what was there before.
    for store in [made.store, other] { #expect(try await store.text(for: item) == nil) }
    try await made.store.put("again", for: item)
    #expect(try await other.text(for: item) == "again")
    let after = try #require(Int64(try await made.ask("SELECT version FROM $.item")))
    #expect(after > before + 1)
    try await other.put("more", for: item)
    #expect(try await made.store.text(for: item) == "more")
  }

  @Test func `makes change streams that had not come so far read everything again`() async throws {
    let made = try await StoreOnServer(environment: Self.hasty)
    try await made.store.put("x", for: item)
    var location = made.location
    let name = "listener_\(made.location.options.schema)"
    location.address += " application_name=\(name)"
    let listening = try location.reopened()
    let changes = listening.changes()
    var events = changes.makeAsyncIterator()
    #expect(await events.next() == .resynchronize)
    // Its connections stand still, while the removal comes and goes.
    let server = try await DatabaseServer.shared()
    let processes = try await server.ask(
      "SELECT pid FROM pg_stat_activity WHERE application_name = left('\(name)', 63)"
    ).split(separator: "\n").compactMap { Int32($0) }
    #expect(!processes.isEmpty)
    for process in processes { server.signal(SIGSTOP, process: process) }
    try await made.store.remove(item)
    #expect(try await made.sweep() == 1)
    for process in processes { server.signal(SIGCONT, process: process) }
    #expect(await events.next() == .resynchronize)
    try await made.store.put("y", for: item)
    #expect(await events.next() == .changed([item]))
  }
}
