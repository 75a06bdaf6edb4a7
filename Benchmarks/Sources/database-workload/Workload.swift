import DatabaseStore
import Dispatch
import Foundation
import Items
import SealedStore
import SessionToolsBase
import Synchronization

/// The operations of `DatabaseLimit/database.c` through the public interface, each timed by itself.
///
/// What is there before the time begins is the same as in C: a connection with its prepared
/// statements, the versions of the items that are put, and the first of the operations.
struct Workload {
  let address: String
  let schema: String
  let key: KeyFile

  static let listCount = 100
  static let bulkCount = 1000

  private static func timed(_ body: () throws -> Void) rethrows -> Duration {
    try SuspendingClock().measure(body)
  }

  private func options(_ connectionCount: Int) -> SealedDatabaseStore.Options {
    SealedDatabaseStore.Options(
      schema: schema, maximumConnectionCount: connectionCount, operationTimeout: .seconds(60))
  }

  /// Opens the store as a process of its own would.
  func open(connections connectionCount: Int = 1) throws -> SealedDatabaseStore {
    try SealedDatabaseStore.open(address, key: key, options: options(connectionCount))
  }

  /// Creates an empty store.
  func create() throws -> Timing {
    let time = try Self.timed {
      _ = try SealedDatabaseStore.create(at: address, key: key, options: options(1))
    }
    return Timing(operation: "create", count: 1, time: time)
  }

  /// Puts items, as many in each change as it may have.
  func bulk(_ numbers: Range<Int>) throws -> Timing {
    let store = try open()
    let time = try Self.timed {
      for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.bulkCount) {
        try store.apply(Items.puts(first..<min(first + Self.bulkCount, numbers.upperBound)))
      }
    }
    return Timing(operation: "bulk", count: numbers.count, time: time)
  }

  /// Reads random items of the first `itemCount`.
  func get(of itemCount: Int, times count: Int, seed: Int) throws -> Timing {
    let store = try open()
    // In the order of the reads: how a program stores its names is not measured.
    let names = try Self.random(count, of: itemCount, seed: seed).map { try Items.name($0) }
    _ = try store.value(for: names[0])
    let time = try Self.timed {
      for name in names.dropFirst() {
        guard let value = try store.value(for: name), value.byteCount == Items.valueByteCount
        else { throw WorkloadError("an item is missing") }
      }
    }
    return Timing(operation: "get", count: count - 1, time: time)
  }

  /// Puts random items of the first `itemCount`, one at a time, each durable before the next.
  func durablePut(of itemCount: Int, times count: Int, seed: Int) throws -> Timing {
    let store = try open()
    let items = try Self.different(count, of: itemCount, seed: seed)
    for item in items { _ = try store.value(for: item.name) }
    try store.put(items[0].value, for: items[0].name)
    let time = try Self.timed {
      for item in items.dropFirst() { try store.put(item.value, for: item.name) }
    }
    return Timing(operation: "durable-put", count: count - 1, time: time)
  }

  /// Puts different items from several threads, each with a connection.
  func durablePut(
    of itemCount: Int, times count: Int, seed: Int, threads threadCount: Int
  ) throws -> Timing {
    let store = try open(connections: threadCount)
    let items = try Self.different(count, of: itemCount, seed: seed)
    let threads = Threads(threadCount) { number in
      let own = stride(from: number, to: items.count, by: threadCount).map { items[$0] }
      for item in own { _ = try store.value(for: item.name) }
      try store.put(own[0].value, for: own[0].name)
      return { for item in own.dropFirst() { try store.put(item.value, for: item.name) } }
    }
    return Timing(
      operation: "put-threads", count: count - threadCount, time: try threads.run())
  }

  /// Puts 100 random items again and again, in one change each time.
  func putList(of itemCount: Int, times count: Int, seed: Int) throws -> Timing {
    let store = try open()
    let items = try Self.different(Self.listCount, of: itemCount, seed: seed)
    let changes = items.map { StoreChange.put($0.value, for: $0.name) }
    for item in items { _ = try store.value(for: item.name) }
    try store.apply(changes)
    let time = try Self.timed {
      for _ in 0..<count { try store.apply(changes) }
    }
    return Timing(operation: "put-list", count: count, time: time)
  }

  /// Lists all items again and again.
  func list(_ itemCount: Int, times count: Int) throws -> Timing {
    let store = try open()
    let namespace = try Items.name(0).namespace
    func list() throws {
      let found = try store.names(in: namespace).count
      guard found == itemCount else { throw WorkloadError("\(found) items are listed") }
    }
    try list()
    let time = try Self.timed { for _ in 0..<count { try list() } }
    return Timing(operation: "list", count: count, time: time)
  }

  /// Checks that the store has exactly the first items with their values.
  func check(_ itemCount: Int) throws -> Timing {
    let store = try open()
    let time = try Self.timed {
      guard try store.names(in: nil) == Items.names(0..<itemCount) else {
        throw WorkloadError("the store has other items")
      }
      for number in 0..<itemCount {
        guard try store.value(for: Items.name(number)) == Items.value(number) else {
          throw WorkloadError("item \(number) has another value")
        }
      }
    }
    return Timing(operation: "check", count: itemCount, time: time)
  }

  // MARK: - Items

  private static func random(_ count: Int, of itemCount: Int, seed: Int) -> [Int] {
    var random = Xorshift(seed: seed)
    return (0..<count).map { _ in random.next(below: itemCount) }
  }

  private static func different(
    _ count: Int, of itemCount: Int, seed: Int
  ) throws -> [(name: ItemName, value: SecretBytes)] {
    guard count <= itemCount else { throw WorkloadError("there are not \(count) items") }
    var random = Xorshift(seed: seed)
    var taken: Set<Int> = []
    var items: [(name: ItemName, value: SecretBytes)] = []
    while items.count < count {
      let number = random.next(below: itemCount)
      guard taken.insert(number).inserted else { continue }
      items.append((try Items.name(number), Items.value(number)))
    }
    return items
  }
}

/// Threads that prepare themselves, and then do something at the same time.
struct Threads: Sendable {
  typealias Work = () throws -> Void

  private let count: Int
  private let prepare: @Sendable (Int) throws -> Work
  private let ready = DispatchSemaphore(value: 0)
  private let start = DispatchSemaphore(value: 0)
  private let end = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - count: The number of threads.
  ///   - prepare: Returns what the thread of a number does.
  init(_ count: Int, _ prepare: @escaping @Sendable (Int) throws -> Work) {
    self.count = count
    self.prepare = prepare
  }

  /// Returns the time from when all begin until all have ended.
  func run() throws -> Duration {
    let failures = Mutex<[any Error]>([])
    for number in 0..<count {
      Thread {
        do {
          let work = Result { try prepare(number) }
          ready.signal()
          start.wait()
          try work.get()()
        } catch {
          failures.withLock { $0.append(error) }
        }
        end.signal()
      }.start()
    }
    for _ in 0..<count { ready.wait() }
    let time = SuspendingClock().measure {
      for _ in 0..<count { start.signal() }
      for _ in 0..<count { end.wait() }
    }
    if let failure = failures.withLock(\.first) { throw failure }
    return time
  }
}
