import DatabaseServer
import DatabaseStore
import SessionToolsBase
import TestSupport
import Testing

/// Lists of changes among the changes of others.
@Suite struct `a list of changes` {
  /// What a removal finds absent may be put by someone else before the rest of the list is made.
  @Test func `is made at one moment, also when it removes what is not there`() async throws {
    let made = try await StoreOnServer()
    let (item, other) = (try StoreKey("item", in: "svc"), try StoreKey("other", in: "svc"))
    try await made.store.put("old", for: item)
    let lock = Int64.random(in: 1...Int64(Int32.max))
    try await made.pauseChanges(
      """
      IF current_setting(''application_name'') = ''held'' THEN
        PERFORM pg_advisory_xact_lock_shared(\(lock));
      END IF
      """)
    let observer = try await DatabaseServer.shared().open()
    try observer.run("SELECT pg_advisory_lock(\(lock))")
    func opened(_ name: String) throws -> SealedDatabaseStore {
      var place = made.place
      place.address += " application_name='\(name)'"
      return try place.reopened()
    }
    let (lister, putter) = (try opened("held"), try opened("other \(lock)"))
    let list = Task.detached {
      try await lister.apply([.put(SecretBytes(utf8: "new"), for: item), .remove(other)])
    }
    try await wait(until: "the list is under way") {
      try observer.run("SELECT FROM pg_locks WHERE objid = \(lock) AND NOT granted").rowCount == 1
    }
    let put = Task.detached { try await putter.put("x", for: other) }
    // The put waits for the list, or it is made.
    try await wait(until: "the put has been tried") {
      let waiting = """
        SELECT FROM pg_stat_activity
        WHERE application_name = 'other \(lock)' AND wait_event_type = 'Lock'
        """
      return try await made.store.contains(other) || observer.run(waiting).rowCount == 1
    }
    let values = try made.store.values(ofFirst: [item, other])
    #expect(values == [SecretBytes(utf8: "old"), nil])
    try observer.run("SELECT pg_advisory_unlock(\(lock))")
    try await list.value
    try await put.value
    #expect(try await made.store.text(for: item) == "new")
    #expect(try await made.store.text(for: other) == "x")
  }

  @Test func `leaves a removal alone that is there already`() async throws {
    let made = try await StoreOnServer()
    let (item, other) = (try StoreKey("item", in: "svc"), try StoreKey("other", in: "svc"))
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
