import SessionToolsDatabaseServer
import DatabaseStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Lists of changes among the changes of others.
@Suite(.onOwnThread) struct `a list of changes` {
  /// What a removal finds absent may be put by someone else before the rest of the list is made.
  @Test func `is made at one moment, also when it removes what is not there`() async throws {
    let made = try await StoreOnServer()
    let (item, other) = (try ItemName("item", in: "svc"), try ItemName("other", in: "svc"))
    try await made.store.put("old", for: item)
    let held = try await HeldChanges(of: made, by: "lister")
    func opened(_ name: String) throws -> SealedDatabaseStore {
      var location = made.location
      location.address += " application_name='\(name)'"
      return try location.reopened()
    }
    let putterName = "putter \(UInt64.random(in: 0...(.max)))"
    let (lister, putter) = (try opened("lister"), try opened(putterName))
    let list = Task.detached {
      try await lister.apply([.put(SecretBytes(utf8: "new"), for: item), .remove(other)])
    }
    try await held.waitForOne()
    let put = Task.detached { try await putter.put("x", for: other) }
    // The put waits for the list, or it is made.
    try await wait(until: "the put has been tried") {
      let waiting = """
        SELECT FROM pg_stat_activity
        WHERE application_name = '\(putterName)' AND wait_event_type = 'Lock'
        """
      return try await made.store.contains(other) || held.connection.run(waiting).rowCount == 1
    }
    let values = try made.store.values(ofFirst: [item, other])
    #expect(values == [SecretBytes(utf8: "old"), nil])
    try held.end()
    try await list.value
    try await put.value
    #expect(try await made.store.text(for: item) == "new")
    #expect(try await made.store.text(for: other) == "x")
  }

  @Test func `leaves a removal alone that is there already`() async throws {
    let made = try await StoreOnServer()
    let (item, other) = (try ItemName("item", in: "svc"), try ItemName("other", in: "svc"))
    let versions = "SELECT min(version) FROM $.item WHERE gone"
    let list: [StoreChange] = [.put(SecretBytes(utf8: "x"), for: item), .remove(other)]
    try await made.store.apply(list)
    let before = try await made.ask(versions)
    #expect(before != "")
    try await made.store.apply(list)
    #expect(try await made.ask(versions) == before)
    // Another process puts what is removed here.
    try await made.reopened().put("y", for: other)
    try await made.store.apply(list)
    #expect(try await made.store.text(for: other) == nil)
  }
}
