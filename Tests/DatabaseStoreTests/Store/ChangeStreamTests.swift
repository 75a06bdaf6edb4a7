import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Streams of changes by many machines.
@Suite(.onOwnThread) struct `a change stream of a database` {
  @Test func `misses no change of many writers`() async throws {
    let made = try await StoreOnServer()
    let listener = Listener(made.store.changes())
    try await listener.waitForBegin()
    let writers = try (0..<3).map { _ in try made.reopened() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, writer) in writers.enumerated() {
        for half in 0..<2 {
          group.addTask {
            for round in 0..<30 {
              try await writer.put("x", for: ItemName("\(number) \(half) \(round)", in: "svc"))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    // When the last one was reported, nothing before it follows.
    let last = try ItemName("last", in: "svc")
    try await writers[0].put("x", for: last)
    try await wait(until: "the last change is reported") { listener.reported.contains(last) }
    #expect(listener.count == 181)
  }

  @Test func `reports a change behind an open transaction when that has ended`() async throws {
    let made = try await StoreOnServer()
    let item = try ItemName("item", in: "svc")
    let listener = Listener(made.store.changes(of: [item]))
    try await listener.waitForBegin()
    let server = try await DatabaseServer.shared()
    let holding = try await server.open().hold("SELECT pg_current_xact_id()", server.open())
    let other = try ItemName("other", in: "svc")
    try await made.store.put("x", for: item)
    try await made.store.put("x", for: other)
    #expect(listener.count == 0)
    try await holding.end()
    try await wait(until: "the change is reported") { listener.count == 1 }
    #expect(listener.reported == [item])
  }

  @Test func `reports that anything may have changed when the server was started again`()
    async throws
  {
    let server = try await DatabaseServer()
    let key = try RawKey(RawKey.random())
    let store = try SealedDatabaseStore.create(
      at: server.socketAddress(), key: key,
      options: SealedDatabaseStore.Options(operationTimeout: .seconds(60)))
    let item = try ItemName("item", in: "svc")
    let listener = Listener(store.changes())
    try await listener.waitForBegin()
    try await store.put("before", for: item)
    try await wait(until: "the change is reported") { listener.count == 1 }
    // The numbers of transactions then go on where they were.
    try await server.ask("CHECKPOINT")
    server.crash()
    try await server.restart()
    try await wait(until: "the listener is told") {
      listener.resynchronizationCount == 2
    }
    #expect(try await store.text(for: item) == "before")
    try await store.put("after", for: ItemName("after", in: "svc"))
    try await wait(until: "the change is reported") { listener.count == 2 }
    #expect(listener.resynchronizationCount == 2)
  }
}
