import Benchmark
import Foundation
import Items
import SealedStore
import SessionToolsBase

let benchmarks: @Sendable () -> Void = {
  encoding()
  containers()
  singleItems()
  manyItems()
}

/// Returns the configuration of all benchmarks.
///
/// - Parameter scale: How often one iteration runs the measured operation.
/// - Returns: A configuration that removes all stores in the end.
private func configuration(_ scale: BenchmarkScalingFactor = .one) -> Benchmark.Configuration {
  Benchmark.Configuration(
    metrics: [.wallClock, .throughput, .peakMemoryResident], scalingFactor: scale,
    maxDuration: .seconds(3), maxIterations: 100_000, teardown: { try Scratch.remove() })
}

/// Adds the benchmarks of encoding an item and decoding it.
private func encoding() {
  Benchmark("JSON encode, 512 bytes", configuration: configuration(.kilo)) { benchmark in
    let encoder = JSONEncoder()
    for _ in benchmark.scaledIterations { blackHole(try encoder.encode(Profile.example)) }
  }

  Benchmark("JSON decode, 512 bytes", configuration: configuration(.kilo)) {
    (benchmark, data: Data) in
    let decoder = JSONDecoder()
    for _ in benchmark.scaledIterations {
      blackHole(try decoder.decode(Profile.self, from: data))
    }
  } setup: {
    try JSONEncoder().encode(Profile.example)
  }
}

/// Adds the benchmarks of the same item through a container.
///
/// In memory they show the cost of encoding; with a sealed file, that of sealing and the disk too.
private func containers() {
  Benchmark("Container store, memory", configuration: configuration(.kilo)) {
    (benchmark, container: StoreContainer<Profile>) in
    for _ in benchmark.scaledIterations {
      try container.storeItem(Profile.example, forIdentifier: "user")
    }
  } setup: {
    try StoreContainer<Profile>(MemoryStore(), service: "com.example.benchmark")
  }

  Benchmark("Container store, sealed file", configuration: configuration()) {
    (benchmark, container: StoreContainer<Profile>) in
    for _ in benchmark.scaledIterations {
      try container.storeItem(Profile.example, forIdentifier: "user")
    }
  } setup: {
    try StoreContainer<Profile>(Scratch.store().store, service: "com.example.benchmark")
  }

  Benchmark("Container load, sealed file", configuration: configuration(.kilo)) {
    (benchmark, container: StoreContainer<Profile>) in
    for _ in benchmark.scaledIterations {
      blackHole(try container.item(forIdentifier: "user"))
    }
  } setup: {
    let container = try StoreContainer<Profile>(
      Scratch.store().store, service: "com.example.benchmark")
    try container.storeItem(Profile.example, forIdentifier: "user")
    return container
  }
}

/// Adds the benchmarks of sealing and opening single records, including the file access.
private func singleItems() {
  Benchmark("Durable put", configuration: configuration()) { (benchmark, made: StoreAndKey) in
    let (name, value) = (try Items.name(0), Items.value(0))
    benchmark.startMeasurement()
    for _ in benchmark.scaledIterations { try made.store.put(value, for: name) }
  } setup: {
    try Scratch.store()
  }

  Benchmark("1,000 in one change", configuration: configuration()) {
    (benchmark, made: StoreAndKey) in
    let changes = try Items.puts(0..<1000)
    benchmark.startMeasurement()
    try made.store.apply(changes)
  } setup: {
    try Scratch.store()
  }

  Benchmark("Get one of 100,000", configuration: configuration(.kilo)) {
    (benchmark, made: StoreAndKey) in
    let names = try benchmark.scaledIterations.map { _ in
      try Items.name(Int.random(in: 0..<100_000))
    }
    benchmark.startMeasurement()
    for name in names { blackHole(try made.store.value(for: name)) }
  } setup: {
    try Scratch.store(of: 100_000)
  }
}

/// Adds the benchmarks of whole stores.
private func manyItems() {
  Benchmark("List 100,000", configuration: configuration()) { (benchmark, made: StoreAndKey) in
    blackHole(try made.store.names(in: nil))
  } setup: {
    try Scratch.store(of: 100_000)
  }

  Benchmark("100,000 in one change", configuration: configuration()) {
    (benchmark, changes: [StoreChange]) in
    let made = try Scratch.store()
    benchmark.startMeasurement()
    try made.store.apply(changes)
    benchmark.stopMeasurement()
    try Scratch.remove()
  } setup: {
    try Items.puts(0..<100_000)
  }

  for (title, itemCount) in [("100,000", 100_000), ("1,000,000", 1_000_000)] {
    Benchmark("Open \(title)", configuration: configuration()) { (benchmark, made: StoreAndKey) in
      blackHole(try SealedFileStore.open(at: made.store.path, key: made.key))
    } setup: {
      try Scratch.store(of: itemCount)
    }
  }
}

/// Stores in a temporary directory of this process.
enum Scratch {
  private static let path =
    "\(NSTemporaryDirectory())session-tools-benchmarks-\(ProcessInfo.processInfo.processIdentifier)"

  /// Removes all stores.
  static func remove() throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }

  /// Creates a store with the first `itemCount` items in it.
  static func store(of itemCount: Int = 0) throws -> StoreAndKey {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let name = "\(path)/\(UUID().uuidString)"
    let key = try RawKey(RawKey.random())
    let store = try SealedFileStore.create(at: name, key: key)
    // In changes of 100,000, because a whole change is in memory.
    for first in stride(from: 0, to: itemCount, by: 100_000) {
      try store.apply(Items.puts(first..<min(first + 100_000, itemCount)))
    }
    return StoreAndKey(store: store, key: key)
  }
}

/// A store and the key that opens it.
struct StoreAndKey {
  let store: SealedFileStore
  let key: RawKey
}
