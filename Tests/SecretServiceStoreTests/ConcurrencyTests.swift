import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// Tasks, threads and processes that use one collection at the same time.
@Suite(.fewAtATime) struct ConcurrencyTests {
  /// Changes items of its own and items that all workers change, and checks what it can know.
  static func work(_ store: SecretServiceStore, worker: String, rounds: Int) throws {
    let shared = try (0..<3).map { try ItemName("shared \($0)", in: "shared") }
    for round in 0..<rounds {
      let own = try ItemName("\(worker) \(round % 4)", in: "own")
      let value = SecretBytes(utf8: "\(worker) \(round)")
      try store.put(value, for: own)
      let name = shared[round % shared.count]
      try store.put(value, for: name)
      if let read = try store.value(for: name) {
        // From any worker, but whole.
        let text = String(decoding: read.copyBytes(), as: UTF8.self)
        guard text.hasPrefix("worker ") else { throw WrongValue(text: text) }
      }
      guard try store.value(for: own) == value else { throw WrongValue(text: worker) }
      if round % 3 == 2 { try store.remove(shared[(round + 1) % shared.count]) }
      if round % 8 == 7 {
        try store.remove(own)
        guard try !store.contains(own) else { throw WrongValue(text: "\(worker), removed") }
      }
      _ = try store.names(in: "own")
    }
  }

  struct WrongValue: Error {
    let text: String
  }

  /// Returns a worker's own items after its rounds.
  private func left(by worker: String, rounds: Int) -> [String: String] {
    var left: [String: String] = [:]
    for round in 0..<rounds {
      left["\(worker) \(round % 4)"] = round % 8 == 7 ? nil : "\(worker) \(round)"
    }
    return left
  }

  /// gnome-keyring treats items with different attributes as two, and the size is an attribute.
  @Test func `of a small and a large value put at the same time, one remains`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let values = [SecretBytes(utf8: "small"), SecretBytes([UInt8](repeating: 1, count: 40_000))]
    for round in 0..<TestSize.choose(small: 5, medium: 40, large: 400) {
      let name = try ItemName("\(round)", in: "own")
      try await withThrowingTaskGroup { group in
        for value in values + values {
          group.addTask { try await bus.store().put(value, for: name) }
        }
        try await group.waitForAll()
      }
      let found = try await bus.store().value(for: name)
      #expect(found.map(values.contains) == true, "round \(round)")
    }
    withExtendedLifetime(keyring) {}
  }

  @Test func `a store's first tasks share one connection`() async throws {
    let bus = try await PrivateBus()
    // KeePassXC returns an item only to the connection that created it.
    let keyring = try await KeePassXC(on: bus, confirms: true)
    let store = bus.store()
    let names = try (0..<8).map { try ItemName("\($0)", in: "own") }
    try await withThrowingTaskGroup { group in
      for name in names { group.addTask { try await store.put(SecretBytes(utf8: "v"), for: name) } }
      try await group.waitForAll()
    }
    for name in names { #expect(try await store.value(for: name) == SecretBytes(utf8: "v")) }
    withExtendedLifetime(keyring) {}
  }

  @Test func `eight threads and four processes lose nothing`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let rounds = TestSize.choose(small: 6, medium: 12, large: 400)
    let store = bus.store()
    try await withThrowingTaskGroup { group in
      for number in 0..<8 {
        group.addTask {
          try await onThread {
            try Self.work(store, worker: "worker thread \(number)", rounds: rounds)
          }
        }
      }
      for number in 0..<4 {
        group.addTask { [address = bus.address] in
          await #expect(processExitsWith: .success) {
            [address = address as String, number = number as Int, rounds = rounds as Int] in
            var options = SecretServiceStore.Options()
            options.timeout = patience
            let store = SecretServiceStore(
              collection: .default, options: options, bus: SessionBus(address: address))
            try Self.work(store, worker: "worker process \(number)", rounds: rounds)
          }
        }
      }
      try await group.waitForAll()
    }
    var expected: [String: String] = [:]
    let workers = (0..<8).map { "worker thread \($0)" } + (0..<4).map { "worker process \($0)" }
    for worker in workers {
      expected.merge(left(by: worker, rounds: rounds)) { first, _ in first }
    }
    var found: [String: String] = [:]
    for (name, value) in try await store.items(in: "own") {
      found[name.identifier] = String(decoding: value.copyBytes(), as: UTF8.self)
    }
    #expect(found == expected)
    #expect(keyring.isRunning)
  }
}
