import Dispatch
import Foundation
import SessionToolsBase
import Synchronization

/// One refresh that many tasks wait for, compared with as many tasks that wait for one other task.
struct RefreshPath {
  let waiterCount: Int

  private struct Token: Codable, ExpiringItem, Sendable {
    let expirationDate: Date?

    static let expired = Token(expirationDate: Date.distantPast)
    static let fresh = Token(expirationDate: Date.distantFuture)
  }

  /// A barrier that all tasks reach before the refresh ends, so that none comes too late for it.
  private final class Meeting: Sendable {
    private let missing: Atomic<Int>

    init(_ count: Int) {
      missing = Atomic(count)
    }

    func come() {
      missing.wrappingSubtract(1, ordering: .relaxed)
    }

    func allAreThere() async {
      while missing.load(ordering: .relaxed) > 0 { await Task.yield() }
    }
  }

  /// Times both alternately, in nanoseconds per waiter.
  ///
  /// - Throws: Any error that a session throws.
  func measured(pairCount: Int) throws -> HotPath.Result {
    var times: (ours: [Double], limit: [Double]) = ([], [])
    // The first pair does the setup that later pairs skip.
    for pair in -1..<pairCount {
      for isOurs in pair.isMultiple(of: 2) ? [false, true] : [true, false] {
        let time = try wait { try await isOurs ? refresh() : shareTask() }
        guard pair >= 0 else { continue }
        if isOurs { times.ours.append(time) } else { times.limit.append(time) }
      }
    }
    return HotPath.Result(
      operation: "one refresh for \(waiterCount.formatted()) who wait, each", bytes: 0,
      ours: times.ours, limit: times.limit, allocations: 0, limitAllocations: 0)
  }

  private func refresh() async throws -> Double {
    let container = try AnySessionContainer(
      StoreContainer<Token>(MemoryStore(), service: "com.example.benchmark"))
    let meeting = Meeting(waiterCount)
    let refreshCount = Atomic(0)
    let session = UserSession<Token>(
      container: container, storageIdentifier: "user",
      refresher: SessionRefresher { _ in
        refreshCount.wrappingAdd(1, ordering: .relaxed)
        await meeting.allAreThere()
        return .refreshed(.fresh)
      })
    try session.updateItem(.expired)
    let time = try await time {
      meeting.come()
      guard try await session.validItem().expirationDate == Date.distantFuture else {
        throw Failure("an expired item was returned")
      }
    }
    guard refreshCount.load(ordering: .relaxed) == 1 else { throw Failure("refreshed twice") }
    return time
  }

  private func shareTask() async throws -> Double {
    let meeting = Meeting(waiterCount)
    let shared = Task {
      await meeting.allAreThere()
      return Token.fresh
    }
    return try await time {
      meeting.come()
      consume(await shared.value)
    }
  }

  private func time(_ body: @escaping @Sendable () async throws -> Void) async throws -> Double {
    let time = try await SuspendingClock().measure {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<waiterCount { group.addTask { try await body() } }
        try await group.waitForAll()
      }
    }
    return time / .nanoseconds(1) / Double(waiterCount)
  }

  private func wait(for body: @escaping @Sendable () async throws -> Double) throws -> Double {
    let result = Mutex<Result<Double, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      let measured: Result<Double, any Error>
      do { measured = .success(try await body()) } catch { measured = .failure(error) }
      result.withLock { $0 = measured }
      done.signal()
    }
    done.wait()
    guard let measured = result.withLock(\.self) else { throw Failure("nothing was measured") }
    return try measured.get()
  }
}
