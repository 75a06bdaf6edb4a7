import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The access to the refreshes of an item, which comes with the item.
@Suite(.onOwnThread) struct `exclusive access with an item` {
  private let item: ItemName

  init() throws {
    item = try ItemName("item", in: "svc")
  }

  /// Returns the text of the item with which a store is given the access.
  private func read(_ store: SealedDatabaseStore) async throws -> String? {
    try await store.withExclusiveAccess(
      to: item.refreshLock, timeout: patience, reading: item
    ) { value in
      await Task.yield()
      return try value.get().map { String(decoding: $0.copyBytes(), as: UTF8.self) }
    }
  }

  @Test func `takes one round trip, and the change of the item another one`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("old", for: item)
    let logged = try await LoggedStore(made)
    try await logged.store.withExclusiveAccess(
      to: item.refreshLock, timeout: patience, reading: item
    ) { value in
      #expect(try value.get() == SecretBytes(utf8: "old"))
      let outcome = try await logged.store.asyncApply(
        [.put(SecretBytes(utf8: "new"), for: item)],
        if: .stored(item, isOneOf: [ItemVersion(SecretBytes(utf8: "old"))]))
      #expect(outcome == .made)
    }
    #expect(try await logged.sent() == ["take_reading", "replace", "release"])
    #expect(try await made.store.text(for: item) == "new")
  }

  @Test(arguments: Way.allCases)
  func `has the newest item, whether it was put by this object or another one`(
    way: Way
  ) async throws {
    let made = try await StoreOnServer(way)
    let other = try made.reopened()
    #expect(try await read(made.store) == nil)
    try await made.store.put("one", for: item)
    #expect(try await read(made.store) == "one")
    try await other.put("two", for: item)
    #expect(try await read(made.store) == "two")
    try await other.remove(item)
    #expect(try await read(made.store) == nil)
    try await other.put("", for: item)
    #expect(try await read(made.store) == "")
    #expect(try await made.ask("SELECT count(*) FROM $.lease") == "0")
  }

  @Test func `has an item that was sealed with a newer key`() async throws {
    let made = try await StoreOnServer()
    let other = try made.reopened()
    try await other.put("old", for: item)
    try other.rotate()
    #expect(try await read(made.store) == "old")
  }

  /// The statement sees the rows as they were when it began to wait.
  @Test(arguments: [nil, "old"])
  func `has what was put while it waited until the last holder gave the access back`(
    text: String?
  ) async throws {
    let made = try await StoreOnServer()
    let (second, third) = (try made.reopened(), try made.reopened())
    let server = try await DatabaseServer.shared()
    let schema = made.location.options.schema
    let item = item
    if let text { try await made.store.put(text, for: item) }
    try await made.store.withExclusiveAccess(to: item.refreshLock, timeout: patience) {
      let giving = try await server.open().hold(
        "DELETE FROM \(schema).lease RETURNING 1", server.open())
      // Tasks that do not have this access, as in other processes.
      let waiting = Task.detached { try await read(second) }
      try await wait(until: "the other one waits") {
        try await server.ask(
          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            + "AND wait_event <> 'advisory' AND query LIKE '%\(schema)%'") == "1"
      }
      try await Task.detached { try await third.put("new", for: item) }.value
      try await giving.end()
      #expect(try await waiting.value == "new")
    }
  }

  /// A holder that has not given it back, and one whose access is over.
  @Test func `is not given while someone else has it`() async throws {
    var environment = DatabaseEnvironment()
    environment.leaseDuration = .seconds(6)
    let made = try await StoreOnServer(environment: environment)
    let other = try made.reopened(environment: environment)
    let item = item
    try await made.store.put("value", for: item)
    try await made.store.withExclusiveAccess(
      to: item.refreshLock, timeout: patience, reading: item
    ) { _ in
      let error = await #expect(throws: StoreError.self) {
        try await other.withExclusiveAccess(
          to: item.refreshLock, timeout: .milliseconds(7500), reading: item
        ) { _ in await Task.yield() }
      }
      #expect(error?.code == .timedOut)
      try await made.store.put("kept", for: item)
    }
    #expect(try await read(other) == "kept")
  }

  @Test func `is given back when the item does not open`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("value", for: item)
    try await made.ask("UPDATE $.item SET value = substring(value FROM 2)")
    let error = await #expect(throws: StoreError.self) { try await read(made.store) }
    #expect(error?.code == .corrupt)
    #expect(try await made.ask("SELECT count(*) FROM $.lease") == "0")
    try await made.ask("DELETE FROM $.item")
    let older = await #expect(throws: StoreError.self) { try await read(made.store) }
    #expect(older?.code == .corrupt)
    #expect(try await made.ask("SELECT count(*) FROM $.lease") == "0")
  }
}
