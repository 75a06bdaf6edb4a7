import CMalloc
import Dispatch
import Foundation
import Items
import SealedStore
import SessionToolsBase
import Synchronization

/// The operations of `Limit/main.c` through the public interface, each timed by itself.
struct Workload {
  let path: String
  let key: KeyFile

  /// Creates an empty store.
  func create() throws -> Timing {
    let time = try timed { _ = try SealedFileStore.create(at: path, key: key) }
    return Timing(operation: "create", count: 0, time: time)
  }

  /// Puts items, one at a time, each durable before the next.
  ///
  /// The first is not timed: once after opening, a writer checks for traces of a crash.
  func durablePut(_ numbers: Range<Int>) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    let items = try numbers.map { (name: try Items.name($0), value: Items.value($0)) }
    for item in items.prefix(1) { try store.put(item.value, for: item.name) }
    let time = try timed {
      for item in items.dropFirst() { try store.put(item.value, for: item.name) }
    }
    return Timing(operation: "durable-put", count: numbers.count - 1, time: time)
  }

  /// Puts different items from several threads, each item durable before its thread's next.
  func durablePut(_ numbers: Range<Int>, threads threadCount: Int) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    let items = try numbers.map { (name: try Items.name($0), value: Items.value($0)) }
    try store.put(items[0].value, for: items[0].name)
    let failures = Mutex(0)
    let (start, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for number in 0..<threadCount {
      Thread {
        start.wait()
        do {
          for position in stride(from: number, to: items.count, by: threadCount) {
            try store.put(items[position].value, for: items[position].name)
          }
        } catch {
          failures.withLock { $0 += 1 }
        }
        ends.signal()
      }.start()
    }
    let time = timed {
      for _ in 0..<threadCount { start.signal() }
      for _ in 0..<threadCount { ends.wait() }
    }
    guard failures.withLock(\.self) == 0 else { throw WorkloadError("a put failed") }
    return Timing(operation: "put-threads", count: numbers.count, time: time)
  }

  /// Removes items, one at a time, each durable before the next; the first is not timed.
  func remove(_ numbers: Range<Int>) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    let names = try Items.names(numbers)
    for name in names.prefix(1) { try store.remove(name) }
    let time = try timed {
      for name in names.dropFirst() { try store.remove(name) }
    }
    return Timing(operation: "remove", count: numbers.count - 1, time: time)
  }

  /// Compacts a store of some items.
  func compact(_ itemCount: Int) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    let time = try timed { _ = try store.compact() }
    return Timing(operation: "compact", count: itemCount, time: time)
  }

  /// Puts items in one change.
  func bulk(_ numbers: Range<Int>) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    let changes = try Items.puts(numbers)
    let time = try timed { try store.apply(changes) }
    return Timing(operation: "bulk", count: numbers.count, time: time)
  }

  /// Reads random items of the first `itemCount`.
  func get(of itemCount: Int, times count: Int) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    // In the order of the reads: how a program stores its names is not measured.
    var random = Xorshift()
    let names = try (0..<count).map { _ in try Items.name(random.next(below: itemCount)) }
    let time = try timed {
      let names = names.span
      for at in names.indices {
        guard let value = try store.value(for: names[at]),
          value.byteCount == Items.valueByteCount
        else { throw WorkloadError("an item is missing") }
      }
    }
    return Timing(operation: "get", count: count, time: time)
  }

  /// Lists all items.
  func list(_ itemCount: Int) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    var count = 0
    let time = try timed { count = try store.names(in: nil).count }
    guard count == itemCount else { throw WorkloadError("\(count) items are listed") }
    return Timing(operation: "list", count: count, time: time)
  }

  /// Lists all items again, without a change since they were listed.
  func list(_ itemCount: Int, again count: Int) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    func list() throws {
      let count = try store.names(in: nil).count
      guard count == itemCount else { throw WorkloadError("\(count) items are listed") }
    }
    try list()
    let time = try timed { for _ in 0..<count { try list() } }
    return Timing(operation: "list-again", count: count, time: time)
  }

  /// Opens the store, and measures the time and the memory that this needs.
  ///
  /// - Parameters:
  ///   - itemCount: The number of items in the store.
  ///   - emptyPath: An empty store, which is opened first so that memory which libraries allocate
  ///     once is not counted.
  /// - Returns: The time and the memory of the open store.
  /// - Throws: An error if a store cannot be opened or has other items.
  func open(with itemCount: Int, after emptyPath: String) throws -> Timing {
    let empty = try SealedFileStore.open(at: emptyPath, key: key)
    let before = try Memory.anonymousByteCount()
    var store: SealedFileStore?
    let time = try timed { store = try SealedFileStore.open(at: path, key: key) }
    let after = try Memory.anonymousByteCount()
    guard try empty.contains(Items.name(0)) == false,
      try store?.contains(Items.name(itemCount - 1)) == true,
      try store?.contains(Items.name(itemCount)) == false
    else { throw WorkloadError("the store does not have \(itemCount) items") }
    return Timing(
      operation: "open", count: itemCount, time: time,
      more: ["memoryBytes": max(0, after - before)])
  }

  /// Checks that the store is undamaged and has exactly the first items with their values.
  func check(_ itemCount: Int) throws -> Timing {
    let store = try SealedFileStore.open(at: path, key: key)
    let time = try timed {
      let report = try store.verify()
      guard report.findings.isEmpty else { throw WorkloadError("\(report.findings)") }
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

  private func timed(_ body: () throws -> Void) rethrows -> Duration {
    try SuspendingClock().measure(body)
  }
}

/// The memory of this process.
enum Memory {
  /// Returns the bytes of memory that belong to this process alone and to no file.
  ///
  /// Memory that `malloc` keeps for later is returned to the system first.
  static func anonymousByteCount() throws -> Int {
    malloc_trim(0)
    let text = try String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)
    for line in text.split(separator: "\n") where line.hasPrefix("Anonymous:") {
      if let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) {
        return kibibytes * 1024
      }
    }
    throw WorkloadError("/proc/self/smaps_rollup does not contain the anonymous memory")
  }
}
