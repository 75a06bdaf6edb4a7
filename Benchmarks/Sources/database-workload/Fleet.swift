import DatabaseStore
import Foundation
import Items
import SessionToolsBase
import Synchronization

/// What several machines do with one store: each has an object with connections of its own.
extension Workload {
  /// Refreshes a session's item again and again, with an answer of the token server that takes no
  /// time; the first is not timed.
  func refresh(times count: Int) async throws -> Timing {
    let session = UserSession<Token>(
      container: try AnySessionContainer(
        StoreContainer<Token>(try open(), service: "com.example.refresh")),
      storageIdentifier: "user",
      refresher: SessionRefresher { request in .refreshed(Token(number: request.item.number + 1)) })
    try await session.signIn(Token(number: 0))
    _ = try await session.validItem(.always)
    let time = try await SuspendingClock().measure {
      for number in 0..<count {
        guard try await session.validItem(.always).number == number + 2 else {
          throw WorkloadError("an item was not refreshed")
        }
      }
    }
    return Timing(operation: "refresh", count: count, time: time)
  }

  /// Puts an item again and again, with pauses, and measures from the end of each put until another
  /// machine's stream reports it.
  func follow(times count: Int) async throws -> Timing {
    let (here, elsewhere) = (try open(), try open())
    let name = try ItemName("item", in: "com.example.follow")
    let report = Report()
    let listener = Task {
      for await _ in elsewhere.changes(of: [name]) { report.time.withLock { $0 = .now } }
    }
    defer { listener.cancel() }
    func put(_ number: Int) async throws -> Duration {
      report.time.withLock { $0 = nil }
      try await here.put(Items.value(number), for: name)
      let end = SuspendingClock.now
      while SuspendingClock.now < end + .seconds(5) {
        if let time = report.time.withLock(\.self) { return max(.zero, time - end) }
        try await Task.sleep(for: .microseconds(500))
      }
      throw WorkloadError("a change was not reported")
    }
    // Until the stream has looked for the first time, it reports nothing.
    try await Task.sleep(for: .seconds(1))
    for number in 0..<3 { _ = try await put(number) }
    var (times, random) = ([Duration](), Xorshift())
    for number in 0..<count {
      try await Task.sleep(for: .milliseconds(random.next(below: 60)))
      times.append(try await put(number))
    }
    return Timing(
      operation: "follow", count: count, time: times.reduce(.zero, +), more: Self.quantiles(times))
  }

  /// Lets machines contend for exclusive access to one name, each several times, for 1 ms each.
  ///
  /// Each counts an item up, so that a write that overlaps with another one is noticed.
  func contend(_ machineCount: Int, times count: Int) throws -> Timing {
    let (name, counter) = (
      try ItemName("name", in: "com.example.contend"),
      try ItemName("counter", in: "com.example.contend")
    )
    let stores = try (0..<machineCount).map { _ in try open() }
    try stores[0].put(SecretBytes(utf8: "0"), for: counter)
    let accesses = Mutex<[Range<SuspendingClock.Instant>]>([])
    let time = try Threads(machineCount) { number in
      let store = stores[number]
      _ = try store.value(for: counter)
      return {
        for _ in 0..<count {
          let access = try store.withExclusiveAccess(to: name, timeout: .seconds(300)) {
            let start = SuspendingClock.now
            guard let bytes = try store.value(for: counter)?.copyBytes(),
              let old = Int(String(decoding: bytes, as: UTF8.self))
            else { throw WorkloadError("there is no counter") }
            try store.put(SecretBytes(utf8: "\(old + 1)"), for: counter)
            Thread.sleep(forTimeInterval: 0.001)
            return start..<SuspendingClock.now
          }
          accesses.withLock { $0.append(access) }
        }
      }
    }.run()
    let total = try stores[0].value(for: counter)
    guard total == SecretBytes(utf8: "\(machineCount * count)") else {
      throw WorkloadError("writes of two machines overlapped: the counter is wrong")
    }
    let sorted = accesses.withLock { $0.sorted { $0.lowerBound < $1.lowerBound } }
    let handovers = zip(sorted, sorted.dropFirst()).map { $1.lowerBound - $0.upperBound }
    guard handovers.allSatisfy({ $0 >= .zero }) else {
      throw WorkloadError("the accesses of two machines overlapped")
    }
    return Timing(
      operation: "contend", count: machineCount * count, time: time,
      more: Self.quantiles(handovers))
  }

  private static func quantiles(_ times: [Duration]) -> [String: Int] {
    let sorted = times.sorted()
    return [
      "p50": sorted[sorted.count / 2].nanoseconds,
      "p99": sorted[sorted.count * 99 / 100].nanoseconds,
    ]
  }
}

/// When a change was reported.
private final class Report: Sendable {
  let time = Mutex<SuspendingClock.Instant?>(nil)
}

/// An item that is about as long as the others.
private struct Token: Codable, ExpiringItem, Sendable {
  let number: Int
  var expirationDate: Date?
  var token = String(repeating: "c3", count: 220)
}
