import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What a rotation leaves behind, and what others see of it.
@Suite(.onOwnThread) struct `a rotation of a database` {
  private let item: ItemName
  private let removed: ItemName

  init() throws {
    item = try ItemName("item", in: "svc")
    removed = try ItemName("removed", in: "svc")
  }

  /// The numbers of the data keys in use, the lowest that is written, and how many rows have which.
  private func epochs(_ made: StoreOnServer) async throws -> String {
    try await made.ask(
      """
      SELECT least_epoch || ':' || (
        SELECT string_agg(epoch || 'x' || n, ' ' ORDER BY epoch)
        FROM (SELECT epoch, count(*) AS n FROM $.item GROUP BY epoch) e
      ) FROM $.header
      """)
  }

  @Test func `seals every row again, also of removed items`() async throws {
    let made = try await StoreOnServer()
    try made.fill(10)
    try await made.store.put("x", for: removed)
    try await made.store.remove(removed)
    try await made.ask("CREATE TABLE $.before AS SELECT * FROM $.item")
    let other = try made.reopened()
    let reports = Mutex<[[Int]]>([])
    try made.store.rotate { done, total in reports.withLock { $0.append([done, total]) } }
    #expect(try await epochs(made) == "2:2x11")
    #expect(try !made.store.isRotationPending())
    #expect(reports.withLock { $0.last } == [11, 11])
    // Each once, as the same change as before, with another nonce.
    let changed = try await made.ask(
      """
      SELECT count(*) FROM $.item i JOIN $.before b USING (ns, shard, tag, write, gone)
      WHERE i.version = b.version + 1 AND i.nonce <> b.nonce
      """)
    #expect(changed == "11")
    for store in [made.store, other, try made.reopened()] {
      #expect(try await store.text(for: ItemName("7", in: "svc")) == "value 7")
      #expect(try await store.text(for: removed) == nil)
      try await store.put("new", for: item)
      #expect(try await store.names(in: nil).count == 11)
    }
    try other.rotate()
    #expect(try await epochs(made) == "3:3x12")
  }

  /// To count hundreds of millions of rows takes longer than a statement may.
  @Test func `reports its progress by the planner's estimate when there are very many rows`()
    async throws
  {
    let made = try await StoreOnServer()
    try made.fill(3)
    try await made.ask(
      "UPDATE pg_class SET reltuples = 20000000 WHERE oid = '$.item'::regclass")
    let reports = Mutex<[[Int]]>([])
    try made.store.rotate { done, total in reports.withLock { $0.append([done, total]) } }
    #expect(reports.withLock { $0 } == [[3, 20_000_000], [3, 3]])
  }

  /// Otherwise it would write with a data key that no header has any more: what it confirmed would
  /// be lost as soon as it ends.
  @Test(arguments: [false, true])
  func `makes a process that saw it write nothing where the database was restored to before it`(
    isRotatedAgain: Bool
  ) async throws {
    let made = try await StoreOnServer()
    try await made.store.put("before", for: item)
    try await made.ask(
      "CREATE TABLE $.h AS SELECT * FROM $.header; CREATE TABLE $.i AS SELECT * FROM $.item")
    try made.store.rotate()
    try await made.ask(
      """
      DELETE FROM $.header; INSERT INTO $.header SELECT * FROM $.h;
      DELETE FROM $.item; INSERT INTO $.item SELECT * FROM $.i
      """)
    // Its header has the same number then.
    if isRotatedAgain { try made.reopened().rotate() }
    for changes in [[item], [removed], [item, removed]] {
      let changes = changes.map { StoreChange.put(SecretBytes(utf8: "late"), for: $0) }
      #expect(try code { try made.store.apply(changes) } == .corrupt)
    }
    let other = try made.reopened()
    #expect(try await other.text(for: item) == "before")
    #expect(try await other.text(for: removed) == nil)
    #expect(try await other.names(in: nil) == [item])
  }

  @Test func `seals nothing with its new data key in a database that is restored meanwhile`()
    async throws
  {
    let made = try await StoreOnServer()
    let count = 800
    try made.fill(count)
    let schema = made.location.options.schema
    try await made.ask(
      "CREATE TABLE $.h AS SELECT * FROM $.header; CREATE TABLE $.i AS SELECT * FROM $.item")
    let connection = try await DatabaseServer.shared().open()
    let error = #expect(throws: StoreError.self) {
      try made.store.rotate { done, _ in
        guard done == 700 else { return }
        for (table, copy) in [("header", "h"), ("item", "i")] {
          _ = try? connection.run("DELETE FROM \(schema).\(table)", as: .write)
          _ = try? connection.run(
            "INSERT INTO \(schema).\(table) SELECT * FROM \(schema).\(copy)", as: .write)
        }
      }
    }
    #expect(error?.code == .corrupt)
    let restored = try made.reopened()
    for number in 0..<count {
      let item = try ItemName("\(number)", in: "svc")
      #expect(try await restored.text(for: item) == "value \(number)")
    }
  }

  @Test func `is finished by another process when it was killed`() async throws {
    let made = try await StoreOnServer()
    let directory = try TemporaryDirectory()
    let key = try made.addKeyFile(in: directory)
    let count = 800
    try made.fill(count)
    let process = try StoreProcess("rotate", made.location, key)
    // It waits then, and has not sealed the last hundred.
    try await process.wait(for: "done 700")
    process.kill()
    #expect(try await epochs(made) == "1:1x100 2x700")
    for number in stride(from: 0, to: count, by: 50) {
      let item = try ItemName("\(number)", in: "svc")
      #expect(try await made.store.text(for: item) == "value \(number)")
    }
    #expect(try made.store.isRotationPending())
    try await made.store.put("new", for: item)
    try made.store.rotate()
    #expect(try await epochs(made) == "2:2x\(count + 1)")
    #expect(try await made.store.names(in: nil).count == count + 1)
  }

  /// Interrupts it at each message of its statements; the next call goes on.
  @Test func `goes on wherever it was interrupted`() async throws {
    let made = try await StoreOnServer()
    let server = try await DatabaseServer.shared()
    let proxy = try FaultProxy(to: server.port)
    var location = made.location
    location.address = server.address(port: proxy.port, "sslmode=disable")
    try made.fill(3)
    proxy.plan(nil)
    try location.reopened().rotate()
    let counts = proxy.counts
    location.options.operationTimeout = .milliseconds(300)
    var epoch = 2
    let step = TestSize.choose(small: 29, medium: 15, large: 1)
    for direction in FaultProxy.Direction.allCases {
      for message in stride(from: 0, to: counts[direction], by: step) {
        // Every message from this one on is lost.
        proxy.plan(.blackHole, at: message, direction)
        let store = try? location.reopened()
        let isDone = (try? store?.rotate()) != nil
        if !isDone || store == nil { try made.store.rotate() }
        epoch += 1
        let now = try await epochs(made)
        // What was lost may have been only the last answer: then the next call is a new rotation.
        if now == "\(epoch + 1):\(epoch + 1)x3" { epoch += 1 }
        #expect(try await epochs(made) == "\(epoch):\(epoch)x3", "\(direction) \(message)")
        #expect(try await made.store.text(for: ItemName("2", in: "svc")) == "value 2")
      }
    }
  }

  @Test func `waits for a change that has read the header and has not written yet`()
    async throws
  {
    let made = try await StoreOnServer()
    let schema = made.location.options.schema
    try await made.store.put("late", for: item)
    // The statement that puts the item again, as a server makes it that was stopped in the middle.
    try await made.ask("CREATE TABLE $.late AS SELECT * FROM $.item; DELETE FROM $.item")
    let server = try await DatabaseServer.shared()
    let (connection, holder) = (try server.open(), try server.open())
    try holder.run("SELECT pg_advisory_lock(4711)")
    let late = Task.detached {
      try await onThread {
        _ = try connection.run(
          """
          WITH stopped AS MATERIALIZED (SELECT pg_advisory_lock(4711))
          INSERT INTO \(schema).item
          SELECT ns, shard, tag, version, epoch, gone, pg_current_xact_id(), write, nonce, name,
            value
          FROM stopped, \(schema).late WHERE (SELECT least_epoch FROM \(schema).header) <= 1
          """, as: .write)
      }
    }
    try await wait(until: "the statement has begun") {
      try holder.run(
        "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = 4711"
      ).rowCount > 0
    }
    let isRotated = Mutex(false)
    let rotation = Task.detached {
      try await onThread {
        try made.store.rotate()
        isRotated.withLock { $0 = true }
      }
    }
    try await wait(until: "the old key is retired") {
      try await made.ask("SELECT least_epoch FROM $.header") == "2"
    }
    try await Task.sleep(for: .milliseconds(200))
    #expect(!isRotated.withLock { $0 })
    try holder.run("SELECT pg_advisory_unlock(4711)")
    try await late.value
    try await rotation.value
    #expect(try await epochs(made) == "2:2x1")
    made.store.forgetSeenVersions()
    #expect(try await made.store.text(for: item) == "late")
  }

  @Test func `does not take a row for lost that was read before and opened after it`()
    async throws
  {
    let made = try await StoreOnServer()
    let server = try await DatabaseServer.shared()
    let proxy = try FaultProxy(to: server.port)
    var location = made.location
    location.address = server.address(port: proxy.port, "sslmode=disable")
    try await made.store.put("value", for: item)
    let store = try location.reopened()
    #expect(try await store.text(for: item) == "value")
    proxy.plan(.delay(.seconds(2)), at: 0, .toClient)
    async let value = store.text(for: item)
    try await wait(until: "the row was read") { !proxy.isPlanned }
    try made.store.rotate()
    // Another thread of the process learns of the new key, and forgets the old one.
    try store.addSlot(RawKey(RawKey.random()))
    #expect(try await value == "value")
  }

  @Test func `is not finished while a row does not open, and goes on when it is put again`()
    async throws
  {
    let made = try await StoreOnServer()
    try made.fill(3)
    try await made.store.put("x", for: item)
    try await made.ask(
      """
      UPDATE $.item SET value = set_byte(value, 20, get_byte(value, 20) # 1)
      WHERE version = (SELECT max(version) FROM $.item)
      """)
    #expect(try code { try made.store.rotate() } == .corrupt)
    #expect(try made.store.isRotationPending())
    try await made.store.put("y", for: item)
    try made.store.rotate()
    #expect(try await epochs(made) == "2:2x4")
  }
}
