import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Exclusive access among machines, which the server's clock ends.
@Suite(.onOwnThread) struct `exclusive access to a name in a database` {
  private let (item, name): (ItemName, ItemName)

  init() throws {
    item = try ItemName("item", in: "svc")
    name = try ItemName("name", in: "svc")
  }

  /// A process that stands still renews nothing.
  private static let stopped: DatabaseEnvironment = {
    var environment = DatabaseEnvironment()
    environment.leaseDuration = .milliseconds(300)
    environment.renewsLeases = false
    return environment
  }()

  private static let short: DatabaseEnvironment = {
    var environment = DatabaseEnvironment()
    environment.leaseDuration = .seconds(6)
    return environment
  }()

  @Test func `is lost by a holder that stood still, whose changes are refused`() async throws {
    let made = try await StoreOnServer(environment: Self.stopped)
    let other = try made.reopened()
    let (item, name) = (item, name)
    try await made.store.withExclusiveAccess(to: name, timeout: patience) {
      // A task that does not have this access, as in another process.
      try await Task.detached {
        try await other.withExclusiveAccess(to: name, timeout: patience) {
          try await other.put("other", for: item)
        }
      }.value
      let late = await #expect(throws: StoreError.self) {
        try await made.store.put("late", for: item)
      }
      #expect(late?.code == .exclusionLost)
      let conditional = await #expect(throws: StoreError.self) {
        _ = try await made.store.asyncApply(
          [.remove(item)],
          if: .stored(item, isOneOf: [ItemVersion(SecretBytes(utf8: "other"))]))
      }
      #expect(conditional?.code == .exclusionLost)
    }
    #expect(try await made.store.text(for: item) == "other")
    // Outside of the closure there is nothing to lose.
    try await made.store.put("after", for: item)
  }

  /// As after a failover to a server whose clock is behind, or when a wrong clock was corrected.
  @Test func `of a holder that died ends in time, although the server's clock was set back`()
    async throws
  {
    var environment = Self.short
    environment.renewsLeases = false
    let made = try await StoreOnServer(environment: environment)
    let other = try made.reopened(environment: Self.short)
    let (item, name) = (item, name)
    try await made.store.withExclusiveAccess(to: name, timeout: patience) {
      try await made.ask("UPDATE $.lease SET until = until + interval '1 hour'")
      try await Task.detached {
        try await other.withExclusiveAccess(to: name, timeout: patience) {
          try await other.put("other", for: item)
        }
      }.value
    }
    #expect(try await made.store.text(for: item) == "other")
  }

  @Test func `stays with a holder that lives when the server's clock is set back`() async throws {
    let made = try await StoreOnServer(environment: Self.short)
    let other = try made.reopened(environment: Self.short)
    let (item, name) = (item, name)
    try await made.store.withExclusiveAccess(to: name, timeout: patience) {
      try await made.ask("UPDATE $.lease SET until = until + interval '1 hour'")
      let error = await Task.detached {
        await #expect(throws: StoreError.self) {
          try await other.withExclusiveAccess(to: name, timeout: .seconds(8)) {}
        }
      }.value
      #expect(error?.code == .timedOut)
      try await made.store.put("mine", for: item)
    }
    #expect(try await other.text(for: item) == "mine")
  }

  /// A change that was sent in time may be made after the access is lost.
  @Test func `is not reported as lost by a change that may still be made`() async throws {
    var environment = Self.stopped
    environment.leaseDuration = .seconds(10)
    // More than half of it is for the first attempt, which outlasts the access.
    let made = try await StoreOnServer(environment: environment, timeout: .seconds(20))
    let (item, name) = (item, name)
    try await made.store.put("before", for: item)
    let held = try await HeldChanges(of: made)
    let error = await #expect(throws: StoreError.self) {
      try await made.store.withExclusiveAccess(to: name, timeout: patience) {
        try await made.store.put("late", for: item)
      }
    }
    #expect(error?.code == .outcomeUnknown)
    try held.end()
    try await wait(until: "the change is made") {
      try await made.store.text(for: item) == "late"
    }
  }

  @Test func `binds the changes of a thread's closure, too`() async throws {
    let made = try await StoreOnServer(environment: Self.stopped)
    let other = try made.reopened()
    let item = item
    let name = name
    let error = try await onThread { () -> StoreError? in
      try made.store.withExclusiveAccess(to: name, timeout: patience) {
        try other.withExclusiveAccess(to: name, timeout: patience) {}
        do throws(StoreError) {
          try made.store.apply([.put(SecretBytes(utf8: "late"), for: item)])
          return nil
        } catch {
          return error
        }
      }
    }
    #expect(error?.code == .exclusionLost)
    #expect(try await made.store.text(for: item) == nil)
  }

  @Test func `is kept by a holder that renews it`() async throws {
    let made = try await StoreOnServer(environment: Self.short)
    let other = try made.reopened(environment: Self.short)
    try await made.store.withExclusiveAccess(to: name, timeout: patience) {
      let error = await #expect(throws: StoreError.self) {
        try await other.withExclusiveAccess(to: name, timeout: .milliseconds(7500)) {
          await Task.yield()
        }
      }
      #expect(error?.code == .timedOut)
      try await made.store.put("kept", for: item)
    }
    #expect(try await other.text(for: item) == "kept")
  }

  @Test func `is kept while the server takes no further connection for renewing it`() async throws {
    let made = try await StoreOnServer()
    let other = try made.reopened()
    try await made.ask("CREATE ROLE $_user LOGIN CONNECTION LIMIT 1 IN ROLE $_application")
    var location = made.location
    location.address = try await DatabaseServer.shared().socketAddress(
      user: "\(location.options.schema)_user")
    location.options.maximumConnectionCount = 1
    let store = try location.reopened(environment: Self.short)
    let (item, name) = (item, name)
    try await store.withExclusiveAccess(to: name, timeout: patience) {
      let error = await #expect(throws: StoreError.self) {
        try await other.withExclusiveAccess(to: name, timeout: .seconds(8)) { await Task.yield() }
      }
      #expect(error?.code == .timedOut)
      try await store.put("kept", for: item)
    }
    #expect(try await other.text(for: item) == "kept")
  }

  @Test func `is kept while other callers have all connections`() async throws {
    let made = try await StoreOnServer()
    let other = try made.reopened()
    try await made.store.put("before", for: item)
    var location = made.location
    location.options.maximumConnectionCount = 1
    let store = try location.reopened(environment: Self.short)
    let server = try await DatabaseServer.shared()
    let (item, name) = (item, name)
    try await store.withExclusiveAccess(to: name, timeout: patience) {
      // A change of the item waits for a transaction, on the only connection.
      let schema = made.location.options.schema
      let holding = try await server.open().hold(
        "UPDATE \(schema).item SET version = version RETURNING 1", server.open())
      let waiting = Task.detached { try await store.put("waiting", for: item) }
      try await wait(until: "the change waits") {
        try await server.ask(
          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            + "AND wait_event <> 'advisory' AND query LIKE '%\(schema)%'") == "1"
      }
      let error = await #expect(throws: StoreError.self) {
        try await other.withExclusiveAccess(to: name, timeout: .milliseconds(7500)) {
          await Task.yield()
        }
      }
      #expect(error?.code == .timedOut)
      try await holding.end()
      try await waiting.value
      try await store.put("kept", for: item)
    }
    #expect(try await other.text(for: item) == "kept")
  }

  @Test func `is kept while a change under another access waits for a lock`() async throws {
    let made = try await StoreOnServer(environment: Self.short)
    let other = try made.reopened()
    let (store, item, name) = (made.store, item, name)
    let stuck = try ItemName("stuck", in: "svc")
    try await store.put("before", for: item)
    let server = try await DatabaseServer.shared()
    let schema = made.location.options.schema
    let holding = try await server.open().hold(
      "UPDATE \(schema).item SET version = version RETURNING 1", server.open())
    let waiting = Task.detached {
      try await store.withExclusiveAccess(to: stuck, timeout: patience) {
        try await store.put("waiting", for: item)
      }
    }
    try await wait(until: "the change waits") {
      try await server.ask(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
          + "AND wait_event <> 'advisory' AND query LIKE '%\(schema)%'") == "1"
    }
    try await store.withExclusiveAccess(to: name, timeout: patience) {
      let error = await #expect(throws: StoreError.self) {
        try await other.withExclusiveAccess(to: name, timeout: .seconds(8)) { await Task.yield() }
      }
      #expect(error?.code == .timedOut)
    }
    try await holding.end()
    try await waiting.value
  }

  @Test func `leaves nothing behind, and does not bind tasks that outlive it`() async throws {
    let made = try await StoreOnServer()
    let (ends, ended) = AsyncStream.makeStream(of: Void.self)
    let item = item
    let task = try await made.store.withExclusiveAccess(to: name, timeout: patience) {
      await Task.yield()
      return Task {
        for await _ in ends {}
        try await made.store.put("later", for: item)
      }
    }
    #expect(try await made.ask("SELECT count(*) FROM $.lease") == "0")
    ended.finish()
    try await task.value
    #expect(try await made.store.text(for: item) == "later")
  }

  @Test func `to two names is checked for both`() async throws {
    let made = try await StoreOnServer()
    let inner = try ItemName("inner", in: "svc")
    let outer = name
    for lost in [outer, inner] {
      try await made.store.withExclusiveAccess(to: outer, timeout: patience) {
        try await made.store.withExclusiveAccess(to: inner, timeout: patience) {
          try await made.store.put("held", for: item)
          // Of the two, the first one that was taken ends later.
          let order = lost == outer ? "ASC" : "DESC"
          try await made.ask(
            """
            UPDATE $.lease SET until = '-infinity'
            WHERE tag = (SELECT tag FROM $.lease ORDER BY until \(order) LIMIT 1)
            """)
          let error = await #expect(throws: StoreError.self) {
            try await made.store.put("lost", for: item)
          }
          #expect(error?.code == .exclusionLost)
        }
      }
    }
  }

  private final class Tally: Sendable {
    let made = Mutex(0)
    let refused = Mutex(0)
  }

  /// Twelve tasks of six objects with leases that are shorter than their pauses.
  ///
  /// Each reads a number, pauses, and puts the next one, without any condition: a put that returns
  /// must never be overwritten by someone who has not seen it.
  @Test func `never lets two of many change an item under one access`() async throws {
    let made = try await StoreOnServer(timeout: .seconds(20))
    var environment = Self.stopped
    environment.leaseDuration = .milliseconds(30)
    let stores = try (0..<6).map { _ in try made.reopened(environment: environment) }
    let tally = Tally()
    let (item, name) = (item, name)
    try await stores[0].put("0", for: item)
    let end = ContinuousClock.now + .seconds(3)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<12 {
        group.addTask {
          let store = stores[number % stores.count]
          while ContinuousClock.now < end {
            do {
              try await store.withExclusiveAccess(to: name, timeout: .seconds(20)) {
                let number = Int(try await store.text(for: item) ?? "") ?? -1
                let pause = [0, 5, 20, 80].randomElement() ?? 0
                try await Task.sleep(for: .milliseconds(pause))
                try await store.put("\(number + 1)", for: item)
                tally.made.withLock { $0 += 1 }
              }
            } catch StoreError.exclusionLost {
              tally.refused.withLock { $0 += 1 }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await made.store.text(for: item) == "\(tally.made.withLock { $0 })")
    #expect(tally.refused.withLock { $0 } > 0)
  }
}
