import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What a user sees of a store.
@Suite(.onOwnThread) struct `an item in a database` {
  private let item: ItemName

  init() throws {
    item = try ItemName("item", in: "svc")
  }

  @Test func `is read and replaced by another object`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("one", for: item)
    let other = try made.reopened()
    #expect(try await other.text(for: item) == "one")
    try await other.put("two", for: item)
    #expect(try await made.store.text(for: item) == "two")
    // The version that this object knows is not the newest.
    try await other.put("three", for: item)
    try await made.store.put("four", for: item)
    #expect(try await other.text(for: item) == "four")
    try await made.store.remove(item)
    #expect(try await other.text(for: item) == nil)
    #expect(try await !other.contains(item))
    try await other.put("five", for: item)
    #expect(try await made.store.names(in: nil) == [item])
    #expect(made.store.identity() == other.identity())
  }

  @Test func `is the last of several changes of a list`() async throws {
    let made = try await StoreOnServer()
    let other = try ItemName("other", in: "svc")
    try await made.store.apply([
      .put(SecretBytes(utf8: "first"), for: item), .remove(other),
      .put(SecretBytes(utf8: "last"), for: item),
    ])
    #expect(try await made.store.text(for: item) == "last")
    #expect(try await made.store.text(for: other) == nil)
    // Alone, what is not there leaves no removal behind.
    let third = try ItemName("third", in: "svc")
    try await made.store.apply([.put(SecretBytes(utf8: "x"), for: third), .remove(third)])
    #expect(try await made.ask("SELECT count(*) FROM $.item") == "2")
  }

  @Test func `is changed once by each of many who change several in opposite orders`()
    async throws
  {
    let made = try await StoreOnServer()
    let names = try ["a", "b", "c"].map { try ItemName($0, in: "svc") }
    let stores = [made.store, try made.reopened()]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let order = number.isMultiple(of: 2) ? names : names.reversed()
          for round in 0..<10 {
            let value = SecretBytes(utf8: "\(number) \(round)")
            try await stores[number % 2].apply(order.map { .put(value, for: $0) })
          }
        }
      }
      try await group.waitForAll()
    }
    var values: Set<String?> = []
    for name in names { values.insert(try await made.store.text(for: name)) }
    #expect(values.count == 1)
    let versions = try await made.ask("SELECT DISTINCT max(version) - min(version) FROM $.item")
    #expect(versions == "0")
  }

  @Test func `is not taken for one that is older than it was`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("old", for: item)
    try await made.ask("CREATE TABLE $.backup AS SELECT * FROM $.item")
    try await made.store.put("new", for: item)
    try await made.ask("DELETE FROM $.item")
    await expectCorrupt { _ = try await made.store.value(for: item) }
    try await made.ask("INSERT INTO $.item SELECT * FROM $.backup")
    await expectCorrupt { _ = try await made.store.value(for: item) }
    // Another process has never seen the newer one.
    #expect(try await made.reopened().text(for: item) == "old")
    made.store.forgetSeenVersions()
    #expect(try await made.store.text(for: item) == "old")
  }

  @Test func `is newer for everyone when it is made again after its removal was deleted`()
    async throws
  {
    let made = try await StoreOnServer()
    try await made.store.put("old", for: item)
    try await made.store.remove(item)
    try await made.ask("DELETE FROM $.item")
    try await made.reopened().put("new", for: item)
    #expect(try await made.store.text(for: item) == "new")
  }

  @Test func `is read as it is again when it was put after a restore`() async throws {
    let made = try await StoreOnServer()
    for _ in 0..<3 { try await made.store.put("old", for: item) }
    try await made.ask("DELETE FROM $.item")
    try await made.store.put("new", for: item)
    #expect(try await made.store.text(for: item) == "new")
  }

  private func expectCorrupt(_ body: () async throws -> Void) async {
    let error = await #expect(throws: StoreError.self) { try await body() }
    #expect(error?.code == .corrupt)
  }

  @Test func `is not put with a data key that was retired`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("one", for: item)
    // Damaged by hand: a header that says so has another MAC, so that no newer key is found.
    try await made.ask("UPDATE $.header SET least_epoch = 2")
    let error = await #expect(throws: StoreError.self) {
      try await made.store.put("two", for: item)
    }
    #expect(error?.code == .corrupt)
    try await made.ask("UPDATE $.header SET least_epoch = 1")
    #expect(try await made.store.text(for: item) == "one")
  }
}

/// Making and opening stores.
@Suite(.onOwnThread) struct `a schema` {
  @Test func `is not made twice, and not opened where there is no store`() async throws {
    let made = try await StoreOnServer()
    let (address, options, key) = (made.location.address, made.location.options, made.location.key)
    let second = #expect(throws: StoreError.self) {
      try SealedDatabaseStore.create(at: address, key: key, options: options)
    }
    #expect(second?.code == .alreadyExists)
    var elsewhere = options
    elsewhere.schema = "t_nothing"
    let nothing = #expect(throws: StoreError.self) {
      try SealedDatabaseStore.open(address, key: key, options: elsewhere)
    }
    #expect(nothing?.code == .unavailable)
    let wrongKey = #expect(throws: StoreError.self) {
      try SealedDatabaseStore.open(address, key: RawKey(RawKey.random()), options: options)
    }
    #expect(wrongKey?.code == .wrongKey)
  }

  @Test func `is used by the role for programs, and by no other user`() async throws {
    let notices = Mutex<Set<DatabaseNotice>>([])
    let made = try await StoreOnServer { notice in
      _ = notices.withLock { $0.insert(notice) }
    }
    #expect(notices.withLock { $0 }.contains(.notReplicated))
    let item = try ItemName("item", in: "svc")
    var location = made.location
    location.address = try await DatabaseServer.shared().address(user: "app")
    location.options.password = { SecretBytes(utf8: DatabaseServer.password) }
    let refused = #expect(throws: StoreError.self) { try location.reopened() }
    #expect(refused?.code == .accessDenied)
    try await made.ask("GRANT $_application TO app")
    let store = try location.reopened()
    let changes = store.changes()
    try await store.withExclusiveAccess(to: item, timeout: patience) {
      try await store.put("value", for: item)
    }
    #expect(try await store.text(for: item) == "value")
    for await event in changes where event.concerns(item) { break }
  }

  @Test func `with a name that needs quotes is used as it is`() async throws {
    var options = SealedDatabaseStore.Options(schema: "Se\"ma; DROP \u{1F511}")
    options.operationTimeout = .seconds(60)
    let address = try await DatabaseServer.shared().socketAddress()
    let key = try RawKey(RawKey.random())
    let store = try SealedDatabaseStore.create(at: address, key: key, options: options)
    let item = try ItemName("item", in: "svc")
    try await store.put("value", for: item)
    #expect(try await store.text(for: item) == "value")
    options.schema = String(repeating: "x", count: 52)
    let error = #expect(throws: StoreError.self) {
      try SealedDatabaseStore.create(at: address, key: key, options: options)
    }
    #expect(error?.code == .invalidName)
  }
}
