import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Operations whose statements or answers are lost on the way.
@Suite(.onOwnThread) struct `an operation of which a message is lost` {
  enum Kind: CaseIterable {
    case cut, answerLost, half

    var fault: FaultProxy.Fault {
      switch self {
      case .cut: .cut
      case .answerLost: .answerLost
      case .half: .half
      }
    }
  }

  /// A store behind a proxy, and another object that sees what is true.
  private struct Line {
    let made: StoreOnServer
    let proxy: FaultProxy
    let store: SealedDatabaseStore
    let items: [ItemName]
    let observer: DatabaseConnection

    init(itemCount: Int = 2, timeout: Duration = .seconds(60)) async throws {
      made = try await StoreOnServer()
      let server = try await DatabaseServer.shared()
      proxy = try FaultProxy(to: server.port)
      var location = made.location
      location.address = server.address(port: proxy.port, "sslmode=disable")
      location.options.operationTimeout = timeout
      store = try location.reopened()
      observer = try server.open()
      items = try (0..<itemCount).map { try ItemName("\($0)", in: "svc") }
    }

    func put(_ text: String) throws(StoreError) {
      try store.apply(items.map { .put(SecretBytes(utf8: text), for: $0) })
    }

    /// How often the items were changed; `nil` when one was changed more often than another.
    func changeCount() throws -> Int64? {
      let schema = made.location.options.schema
      let answer = try observer.run(
        """
        SELECT DISTINCT version - (SELECT min(version) FROM \(schema).before) FROM \(schema).item
        """)
      return answer.rowCount == 1 ? answer.integer(Int64.self, 0, 0) : nil
    }
  }

  /// One item has a statement of its own.
  @Test(arguments: Kind.allCases, [1, 2])
  func `is done once, and reported as done`(_ kind: Kind, itemCount: Int) async throws {
    let line = try await Line(itemCount: itemCount)
    try line.put("first")
    try await line.made.ask("CREATE TABLE $.before AS SELECT version FROM $.item")
    line.proxy.plan(nil)
    try line.put("second")
    let counts = line.proxy.counts
    var number: Int64 = 1
    for direction in FaultProxy.Direction.allCases {
      for message in 0..<counts[direction] {
        line.proxy.plan(kind.fault, at: message, direction)
        try line.put("put \(number)")
        number += 1
        let place = "\(direction) \(message)"
        #expect(try line.changeCount() == number, "\(place)")
        let last = line.items[itemCount - 1]
        #expect(try await line.made.store.text(for: last) == "put \(number - 1)")
        line.proxy.plan(kind.fault, at: message, direction)
        #expect(try await line.store.text(for: line.items[0]) == "put \(number - 1)", "\(place)")
      }
    }
    line.proxy.plan(nil)
  }

  /// A server that does not answer is left at more than half of the time, and asked again.
  @Test(arguments: FaultProxy.Direction.allCases)
  func `is done once although the line is silent`(_ direction: FaultProxy.Direction) async throws {
    let line = try await Line(timeout: .seconds(20))
    try line.put("first")
    try await line.made.ask("CREATE TABLE $.before AS SELECT version FROM $.item")
    line.proxy.plan(.blackHole, at: 0, direction)
    try line.put("second")
    #expect(try line.changeCount() == 1)
  }

  @Test func `has an unknown outcome if there is no server until the deadline`() async throws {
    let line = try await Line(timeout: .seconds(10))
    try line.put("first")
    // Holds the rows, so that the change is under way for longer than it may take.
    let schema = line.made.location.options.schema
    let holder = try await DatabaseServer.shared().open()
    let holding = try await holder.hold("SELECT FROM \(schema).item FOR UPDATE", line.observer)
    let error = #expect(throws: StoreError.self) { try line.put("second") }
    #expect(error?.code == .outcomeUnknown)
    try await holding.end()
    // The next change of the same object waits for what is left of it.
    try await wait(until: "the items can be changed") {
      (try? line.put("third")) != nil
    }
    #expect(try await line.made.store.text(for: line.items[0]) == "third")
  }

  @Test func `ends in its time however many tasks wait for a thread`() async throws {
    let line = try await Line(timeout: .seconds(4))
    try line.put("first")
    line.proxy.isSilent = true
    let (store, item) = (line.store, line.items[0])
    let begin = ContinuousClock.now
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<400 {
        group.addTask { _ = try? await store.asyncValue(for: item) }
      }
    }
    #expect(ContinuousClock.now - begin < .seconds(30))
  }

  @Test func `refuses exclusive access in time however many tasks wait for a thread`()
    async throws
  {
    let line = try await Line(timeout: .seconds(4))
    line.proxy.isSilent = true
    let store = line.store
    let longest = try await withThrowingTaskGroup(of: Duration.self) { group in
      for number in 0..<400 {
        let name = try ItemName("\(number)", in: line.items[0].namespace)
        group.addTask {
          let begin = ContinuousClock.now
          await #expect(throws: StoreError.self) {
            try await store.withExclusiveAccess(to: name, timeout: .seconds(1)) {
              await Task.yield()
            }
          }
          return .now - begin
        }
      }
      return try await group.reduce(.zero) { max($0, $1) }
    }
    #expect(longest < .seconds(10))
  }

  /// A machine that is gone does not answer, and refuses no connection either.
  @Test func `reaches another server in its time when the first one is silent`() async throws {
    let line = try await Line()
    let server = try await DatabaseServer.shared()
    var location = line.made.location
    location.address =
      "host=127.0.0.1,127.0.0.1 port=\(line.proxy.port),\(server.port) "
      + "user=postgres dbname=postgres sslmode=disable connect_timeout=24"
    // Connecting to the first server once more would take all that is left of this.
    location.options.operationTimeout = .seconds(24)
    let store = try location.reopened()
    try await store.put("first", for: line.items[1])
    line.proxy.isSilent = true
    #expect(try await store.text(for: line.items[1]) == "first")
    try await store.put("second", for: line.items[1])
    #expect(try await line.made.store.text(for: line.items[1]) == "second")
  }
}
