import Foundation
import Hummingbird
import SessionToolsBase
import SessionToolsHummingbird
import SessionToolsTesting
import Testing

private struct Cart: Codable, Equatable {
  var items: [String]
}

/// The number of keys that two processes create.
private let sharedKeyCount = 1000

/// Creates the keys, at the same time as the other process, and prints those that were not there.
private func createAll(
  _ name: String, beside other: String, in place: SharedPlace
) async throws {
  let store = try place.open()
  try Data().write(to: place.directory.appending(path: name))
  while access(place.directory.appending(path: other).path(), F_OK) != 0 {
    try await Task.sleep(for: .milliseconds(1))
  }
  let keys = try await withThrowingTaskGroup(of: [Int].self) { group in
    for _ in 0..<8 {
      group.addTask {
        let driver = SecretStorePersistDriver(store, namespace: "com.example.shop")
        var created: [Int] = []
        for key in 0..<sharedKeyCount {
          do {
            try await driver.create(key: "\(key)", value: key, expires: nil)
            created.append(key)
          } catch let error as PersistError where error == .duplicate {}
        }
        return created
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }
  }
  let line = try JSONEncoder().encode(keys) + Data("\n".utf8)
  try FileHandle.standardOutput.write(contentsOf: line)
}

/// What Hummingbird says of a driver, and what a store adds to it.
@Suite struct `a persist driver on a store` {
  private let clock = ManualClock()

  private func driver(_ store: some SecretStore) -> SecretStorePersistDriver {
    SecretStorePersistDriver(store, namespace: "com.example.shop", clock: clock)
  }

  @Test(arguments: Backend.allCases)
  func `keeps, replaces and removes values`(_ backend: Backend) async throws {
    try await backend.withStore { store in
      let driver = driver(store)
      #expect(try await driver.get(key: "a", as: String.self) == nil)
      try await driver.set(key: "a", value: "one")
      try await driver.set(key: "a", value: "two")
      #expect(try await driver.get(key: "a", as: String.self) == "two")
      try await driver.set(key: "cart", value: Cart(items: ["tea"]), expires: .seconds(10))
      #expect(try await driver.get(key: "cart", as: Cart.self) == Cart(items: ["tea"]))
      await #expect(throws: PersistError.invalidConversion) {
        try await driver.get(key: "cart", as: String.self)
      }
      try await driver.remove(key: "a")
      try await driver.remove(key: "a")
      #expect(try await driver.get(key: "a", as: String.self) == nil)
    }
  }

  @Test(arguments: Backend.allCases)
  func `creates a value once, and again when it has expired`(_ backend: Backend) async throws {
    try await backend.withStore { store in
      let driver = driver(store)
      try await driver.create(key: "a", value: 1, expires: .seconds(10))
      await #expect(throws: PersistError.duplicate) {
        try await driver.create(key: "a", value: 2, expires: nil)
      }
      #expect(try await driver.get(key: "a", as: Int.self) == 1)
      clock.advance(by: .seconds(11))
      // Whether or not it has been removed.
      try await driver.create(key: "a", value: 3, expires: nil)
      #expect(try await driver.get(key: "a", as: Int.self) == 3)
    }
  }

  @Test(arguments: Backend.allCases)
  func `ends a value at its time, and keeps the time of one that is set again`(
    _ backend: Backend
  ) async throws {
    try await backend.withStore { store in
      let driver = driver(store)
      try await driver.set(key: "a", value: "one", expires: .seconds(10))
      clock.advance(by: .seconds(4))
      try await driver.set(key: "a", value: "two")
      let found = try #require(try await driver.getWithTTL(key: "a", as: String.self))
      #expect(found.object == "two")
      #expect(found.ttl == .seconds(6))
      clock.advance(by: .seconds(7))
      #expect(try await driver.get(key: "a", as: String.self) == nil)
      // An expired value has no time to keep.
      try await driver.set(key: "a", value: "three")
      let last = try #require(try await driver.getWithTTL(key: "a", as: String.self))
      #expect(last.object == "three")
      #expect(last.ttl == nil)
    }
  }

  @Test(arguments: Backend.allCases)
  func `lets one of many create a key`(_ backend: Backend) async throws {
    try await backend.withStore { store in
      // Two objects, as two instances of a service have.
      let drivers = [driver(store), driver(store)]
      for key in 0..<20 {
        let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
          for number in 0..<8 {
            group.addTask {
              do {
                try await drivers[number % 2].create(key: "\(key)", value: number, expires: nil)
                return true
              } catch let error as PersistError where error == .duplicate {
                return false
              }
            }
          }
          return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(winners == 1)
      }
    }
  }

  @Test(arguments: [Backend.file, .database])
  func `lets one task of two processes create a key`(_ backend: Backend) async throws {
    let place = try SharedPlace(isDatabase: backend == .database)
    defer { place.remove() }
    _ = try place.create()
    async let first = Self.keysCreated(by: "first", beside: "second", in: place)
    async let second = Self.keysCreated(by: "second", beside: "first", in: place)
    let keys = try await (first, second)
    #expect((keys.0 + keys.1).sorted() == Array(0..<sharedKeyCount))
  }

  /// Starts a process in which each of eight tasks creates all keys, and returns the keys that were
  /// not there.
  private static func keysCreated(
    by name: String, beside other: String, in place: SharedPlace
  ) async throws -> [Int] {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) { [name = name as String, other = other as String, place = place as SharedPlace] in
      try await createAll(name, beside: other, in: place)
    }
    let output = String(decoding: result.standardOutputContent, as: UTF8.self)
    let line = try #require(output.split(separator: "\n").last { $0.hasPrefix("[") })
    return try JSONDecoder().decode([Int].self, from: Data(line.utf8))
  }

  @Test func `loses no time when others set the value meanwhile`() async throws {
    try await Backend.file.withStore { store in
      let driver = driver(store)
      try await driver.set(key: "a", value: -1, expires: .seconds(100))
      try await withThrowingTaskGroup { group in
        for number in 0..<8 {
          group.addTask {
            // With more than ten tries in a row behind others, which only this test makes.
            while true {
              do { return try await driver.set(key: "a", value: number) } catch StoreError.timedOut
              {}
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await driver.getWithTTL(key: "a", as: Int.self)?.ttl == .seconds(100))
    }
  }

  @Test(arguments: ["", String(repeating: "k", count: 4097)])
  func `has no value under a key that no item can have`(_ key: String) async throws {
    let driver = driver(MemoryStore())
    #expect(try await driver.get(key: key, as: String.self) == nil)
    try await driver.remove(key: key)
    await #expect(throws: StoreError.self) { try await driver.set(key: key, value: "x") }
    await #expect(throws: StoreError.self) {
      try await driver.create(key: key, value: "x", expires: nil)
    }
  }

  @Test(arguments: ["../../etc", "a\u{0}b", "é", "e\u{301}", String(repeating: "k", count: 4096)])
  func `takes any other key`(_ key: String) async throws {
    let driver = driver(MemoryStore())
    try await driver.set(key: key, value: "x")
    #expect(try await driver.get(key: key, as: String.self) == "x")
  }

  @Test func `does not take a locked store for an empty one`() async throws {
    let store = FaultyStore(MemoryStore())
    let driver = driver(store)
    try await driver.set(key: "a", value: "x")
    store.lock()
    let getting = await #expect(throws: StoreError.self) {
      try await driver.get(key: "a", as: String.self)
    }
    #expect(getting?.code == .locked)
    let creating = await #expect(throws: StoreError.self) {
      try await driver.create(key: "a", value: "y", expires: nil)
    }
    #expect(creating?.code == .locked)
    store.unlock()
    #expect(try await driver.get(key: "a", as: String.self) == "x")
  }

  @Test func `says of what it has not stored that it is not its own`() async throws {
    let store = MemoryStore()
    try await store.apply([
      .put(SecretBytes(utf8: "{}"), for: try ItemName("a", in: "com.example.shop"))
    ])
    let error = await #expect(throws: StoreError.self) {
      try await driver(store).get(key: "a", as: String.self)
    }
    #expect(error?.code == .corrupt)
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(-1), .nanoseconds(1)])
  func `takes every duration`(_ duration: Duration) async throws {
    let driver = driver(MemoryStore())
    try await driver.set(key: "a", value: "x", expires: duration)
    let isThere = try await driver.get(key: "a", as: String.self) != nil
    #expect(isThere == (duration > .zero))
  }

  @Test(arguments: Backend.allCases)
  func `removes what has expired when it begins and after each pause, until it is shut down`(
    _ backend: Backend
  ) async throws {
    try await backend.withStore { store in
      let driver = driver(store)
      try await driver.set(key: "old", value: "x", expires: .seconds(5))
      try await driver.set(key: "new", value: "x", expires: .seconds(5000))
      try await driver.set(key: "endless", value: "x")
      clock.advance(by: .seconds(6))
      let running = Task { try await driver.run() }
      await clock.waitForSleeper(within: .seconds(600))
      func keys() async throws -> [String] {
        try await store.names(in: "com.example.shop").map(\.identifier)
      }
      #expect(try await keys() == ["endless", "new"])
      clock.advance(by: .seconds(5000))
      await clock.waitForSleeper(within: .seconds(600))
      #expect(try await keys() == ["endless"])
      running.cancel()
      try await running.value
    }
  }

  @Test func `does not remove what was renewed after it was read`() async throws {
    let store = MemoryStore()
    let name = try ItemName("a", in: "com.example.shop")
    let other = driver(store)
    for _ in 0..<200 {
      try await other.set(key: "a", value: "old", expires: .seconds(1))
      clock.advance(by: .seconds(2))
      // Renews the item between the driver's reading and its removal.
      let meddling = MeddlingStore(store) {
        try await other.set(key: "a", value: "new", expires: .seconds(100))
      }
      await driver(meddling).tidyOnce(clock)
      #expect(try await store.value(for: name) != nil)
      #expect(try await other.get(key: "a", as: String.self) == "new")
    }
  }

  @Test func `goes on after what it cannot read`() async throws {
    let store = MemoryStore()
    let driver = driver(store)
    try await store.apply([
      .put(SecretBytes(utf8: "?"), for: try ItemName("a", in: "com.example.shop"))
    ])
    try await driver.set(key: "b", value: "x", expires: .seconds(1))
    clock.advance(by: .seconds(2))
    await driver.tidyOnce(clock)
    #expect(try await store.names(in: "com.example.shop").map(\.identifier) == ["a"])
  }
}

extension SecretStorePersistDriver {
  /// Runs the service until it has removed what has expired.
  fileprivate func tidyOnce(_ clock: ManualClock) async {
    let running = Task { try await run() }
    await clock.waitForSleeper(within: .seconds(600))
    running.cancel()
    try? await running.value
  }
}
