import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The connections of a process: how many there are, who gets them and when they are opened.
@Suite(.onOwnThread) struct ConnectionPoolTests {
  /// Runs closures on threads of their own, and waits for all of them.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void)
    async throws
  {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count { group.addTask { try await onThread { try body(number) } } }
      try await group.waitForAll()
    }
  }

  @Test func `callers share a few connections, and none is used by two`() async throws {
    let server = try await DatabaseServer.shared()
    let pool = ConnectionPool(try opening(server.socketAddress()), maximumCount: 3)
    let used = Mutex<[Int32]>([])
    let all = Mutex<Set<Int32>>([])
    try await onThreads(12) { _ in
      for _ in 0..<20 {
        try pool.withConnection(until: later) { connection throws(DatabaseFailure) in
          let process = connection.serverProcess ?? 0
          used.withLock { $0.append(process) }
          all.withLock { _ = $0.insert(process) }
          try connection.run("SELECT 1")
          let userCount = used.withLock { used in
            defer { used.removeAll { $0 == process } }
            return used.count { $0 == process }
          }
          #expect(userCount == 1)
        }
      }
    }
    #expect((1...3).contains(all.withLock { $0.count }))
    #expect(pool.count <= 3)
  }

  @Test func `waiting ends at the deadline, and those who wait come in their order`()
    async throws
  {
    let server = try await DatabaseServer.shared()
    let pool = ConnectionPool(try opening(server.socketAddress()), maximumCount: 1)
    let order = Order()
    let hold = DispatchSemaphore(value: 0)
    let holder = Task {
      try await onThread {
        try pool.withConnection(until: later) { _ throws(DatabaseFailure) in hold.wait() }
      }
    }
    try await wait(until: "the connection is in use") { pool.count == 1 }
    let deadline = ContinuousClock.now + .milliseconds(50)
    let error = failure(by: deadline) {
      try pool.withConnection(until: deadline) { _ throws(DatabaseFailure) in }
    }
    #expect(error?.kind == .timedOut)
    var waiting = [holder]
    for number in 0..<5 {
      waiting.append(
        Task {
          try await onThread {
            try pool.withConnection(until: later) { _ throws(DatabaseFailure) in
              order.append(number)
            }
          }
        })
      try await wait(until: "it waits") { pool.waiterCount == number + 1 }
    }
    hold.signal()
    for task in waiting { try await task.value }
    #expect(order.numbers == [0, 1, 2, 3, 4])
  }

  @Test func `a connection that is not used is closed`() async throws {
    let server = try await DatabaseServer.shared()
    let pool = ConnectionPool(
      try opening(server.socketAddress()), idleTime: .milliseconds(100))
    let process = try pool.withConnection(until: later) { connection throws(DatabaseFailure) in
      connection.serverProcess ?? 0
    }
    try await wait(until: "the connection is closed") {
      guard pool.count == 0 else { return false }
      return try await server.ask(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") == "0"
    }
  }

  @Test func `a broken connection is not used again`() async throws {
    let server = try await DatabaseServer.shared()
    let pool = ConnectionPool(try opening(server.socketAddress()))
    let first = try pool.withConnection(until: later) { connection throws(DatabaseFailure) in
      connection.close()
      return connection.serverProcess
    }
    #expect(first == nil && pool.count == 0)
    try pool.withConnection(until: later) { connection throws(DatabaseFailure) in
      _ = try connection.run("SELECT 1")
    }
  }

  @Test func `connections that the server has closed are replaced`() async throws {
    let server = try await DatabaseServer.shared()
    let pool = ConnectionPool(try opening(server.socketAddress()), maximumCount: 3)
    let processes = Mutex<[Int32]>([])
    try await onThreads(3) { _ in
      try pool.withConnection(until: later) { connection throws(DatabaseFailure) in
        processes.withLock { $0.append(connection.serverProcess ?? 0) }
        #expect(throws: Never.self) {
          try blockingWait(until: "all are connected") { processes.withLock { $0.count } == 3 }
        }
      }
    }
    for process in processes.withLock({ $0 }) {
      try await server.ask("SELECT pg_terminate_backend(\(process), 60000)")
    }
    try pool.withConnection(until: later) { connection throws(DatabaseFailure) in
      _ = try connection.run("SELECT 1", as: .write)
    }
    #expect(pool.count == 1)
  }

  @Test func `after a failure one connection at a time is tried, with pauses`() async throws {
    let proxy = try FaultProxy(to: try LocalPort.free())
    let attempts = Mutex((now: 0, most: 0, all: 0))
    let opening = ConnectionOpening(
      try DatabaseAddress("host=127.0.0.1 port=\(proxy.port) sslmode=disable user=app"),
      statements: .named
    ) { () throws(StoreError) in
      attempts.withLock { attempts in
        attempts.now += 1
        attempts.all += 1
        if attempts.all > 8 { attempts.most = max(attempts.most, attempts.now) }
      }
      usleep(5000)
      attempts.withLock { $0.now -= 1 }
      return nil
    }
    let pool = ConnectionPool(opening, maximumCount: 8)
    let start = ContinuousClock.now
    let deadline = start + .seconds(3)
    try await onThreads(8) { _ in
      repeat {
        let error = failure(by: deadline) {
          try pool.withConnection(until: deadline) { _ throws(DatabaseFailure) in }
        }
        #expect(error.code(.write) == .unavailable)
      } while ContinuousClock.now < deadline
    }
    let (_, most, all) = attempts.withLock { $0 }
    // At most eight before the first failure; then after 50, 100, 200, 400 and 800 ms.
    #expect((2...13).contains(all), "\(all)")
    #expect(most <= 1)
  }

  @Test func `a forked child is refused, and its parent's connections stay`() async throws {
    let server = try await DatabaseServer.shared()
    let pool = ConnectionPool(try opening(server.socketAddress()))
    let isRefused = try pool.withConnection(until: later) {
      connection throws(DatabaseFailure) in
      childStatus {
        let deadline = ContinuousClock.now + .seconds(5)
        do throws(DatabaseFailure) {
          try pool.withConnection(until: deadline) { _ throws(DatabaseFailure) in }
          return 1
        } catch .notSent(.forkedChild) {
          connection.close()
          return connection.isUsable ? 0 : 2
        } catch {
          return 3
        }
      }
    }
    #expect(isRefused == 0)
    try pool.withConnection(until: later) { connection throws(DatabaseFailure) in
      #expect(try connection.run("SELECT 1").rowCount == 1)
    }
  }

  /// Runs a closure in a forked child; returns its status.
  private func childStatus(_ body: () -> Int32) -> Int32 {
    let child = fork()
    if child == 0 {
      alarm(60)
      _exit(body())
    }
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    return status >> 8 & 0xff | status & 0x7f
  }
}

/// The order in which callers were served.
private final class Order: Sendable {
  private let all = Mutex<[Int]>([])

  var numbers: [Int] { all.withLock { $0 } }

  func append(_ number: Int) { all.withLock { $0.append(number) } }
}
