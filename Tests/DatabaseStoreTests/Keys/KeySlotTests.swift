import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Key slots of a store that is open.
@Suite(.onOwnThread) struct `a key slot of a database` {
  private func key(_ label: String) throws -> RawKey {
    try RawKey(RawKey.random(), label: label)
  }

  @Test func `opens the store once it is added, and not once it is removed or changed`()
    async throws
  {
    let made = try await StoreOnServer()
    let (store, address, options) = (made.store, made.location.address, made.location.options)
    let (second, third) = (try key("second"), try key("third"))
    #expect(try store.addSlot(second).number == 2)
    let other = try SealedDatabaseStore.open(address, key: second, options: options)
    let listed = try SealedDatabaseStore.keySlots(at: address, options: options)
    #expect(listed.map(\.parameters) == [.rawKey(label: ""), .rawKey(label: "second")])
    #expect(try store.keySlots() == listed)
    #expect(try store.protection().description.contains("key (second)"))

    try other.changeSlot(2, to: third)
    try other.removeSlot(1)
    #expect(try store.keySlots().map(\.parameters) == [.rawKey(label: "third")])
    for lost in [second, made.location.key] {
      #expect(
        try code { _ = try SealedDatabaseStore.open(address, key: lost, options: options) }
          == .wrongKey)
    }
    _ = try SealedDatabaseStore.open(address, key: third, options: options)
    // A process that had opened it goes on.
    try await store.put("x", for: ItemName("item", in: "svc"))
    try store.addSlot(second)
    let identifier = try SealedDatabaseStore.identifier(at: address, options: options)
    #expect(store.identity() == "sealed database \(identifier)")
  }

  @Test func `is not removed when it is the last one, or not there`() async throws {
    let made = try await StoreOnServer()
    let new = try key("new")
    for change in [
      { try made.store.removeSlot(1) }, { try made.store.removeSlot(0) },
      { try made.store.changeSlot(2, to: new) },
    ] {
      #expect(try code(change) == .invalidKey)
    }
    #expect(try await made.ask("SELECT number FROM $.header") == "1")
    made.store.lock()
    #expect(try code { try made.store.addSlot(new) } == .locked)
  }

  @Test func `is the one that was listed under its number, whatever others removed since`()
    async throws
  {
    let made = try await StoreOnServer()
    for label in ["second", "third", "fourth"] { try made.store.addSlot(key(label)) }
    let other = try made.reopened()
    try other.removeSlot(1)
    try made.store.removeSlot(2)
    #expect(
      try other.keySlots().map(\.parameters)
        == [.rawKey(label: "third"), .rawKey(label: "fourth")])
    // As when the caller was not told that it was removed, and repeats it.
    try other.removeSlot(2)
    #expect(try code { try made.store.removeSlot(2) } == .invalidKey)
    #expect(try code { try made.store.changeSlot(2, to: key("new")) } == .invalidKey)
    #expect(try made.store.keySlots().map(\.parameters) == [.rawKey(label: "third")])
  }

  @Test func `is not lost when several machines add one at the same time`() async throws {
    let made = try await StoreOnServer()
    let stores = try (0..<3).map { _ in try made.reopened() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<12 {
        let key = try key("\(number)")
        group.addTask { try await onThread { _ = try stores[number % 3].addSlot(key) } }
      }
      try await group.waitForAll()
    }
    #expect(Set(try made.store.keySlots()).count == 13)
    #expect(try await made.ask("SELECT number FROM $.header") == "13")
  }

  @Test func `of an older header is refused by those who saw a newer one`() async throws {
    let made = try await StoreOnServer()
    let store = made.store
    try await made.ask("CREATE TABLE $.before AS SELECT * FROM $.header")
    try store.addSlot(key("new"))
    try await made.ask(
      "UPDATE $.header h SET number = b.number, bytes = b.bytes FROM $.before b")
    let new = try key("another")
    for change in [{ _ = try store.keySlots() }, { try store.addSlot(new) }] {
      #expect(try code(change) == .corrupt)
    }
    // Also after it was locked.
    store.lock()
    #expect(try code { try store.unlock(with: made.location.key) } == .corrupt)
    #expect(try made.reopened().keySlots().count == 1)
    store.forgetSeenVersions()
    try store.unlock(with: made.location.key)
    try store.addSlot(new)
    #expect(try store.keySlots().count == 2)
  }

  /// Cuts the line before, after and within each message.
  @Test func `is added once although messages are lost`() async throws {
    let made = try await StoreOnServer()
    let server = try await DatabaseServer.shared()
    let proxy = try FaultProxy(to: server.port)
    var location = made.location
    location.address = server.address(port: proxy.port, "sslmode=disable")
    let store = try location.reopened()
    proxy.plan(nil)
    try store.addSlot(key("first"))
    let counts = proxy.counts
    let step = TestSize.choose(small: 5, medium: 3, large: 1)
    for direction in FaultProxy.Direction.allCases {
      for message in stride(from: 0, to: counts[direction], by: step) {
        for fault in [FaultProxy.Fault.cut, .answerLost] {
          proxy.plan(fault, at: message, direction)
          try store.addSlot(key("\(direction) \(message) \(fault)"))
          proxy.plan(nil)
          #expect(try made.store.keySlots().count == 3)
          try made.store.removeSlot(3)
        }
      }
    }
  }
}
