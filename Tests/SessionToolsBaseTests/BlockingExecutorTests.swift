import Foundation
import SessionToolsBase
import SessionToolsTesting
import Synchronization
import SessionToolsTestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct BlockingExecutorTests {
  @Test func `work runs on threads outside the cooperative pool`() async {
    let executor = BlockingExecutor(maximumThreadCount: 2)
    #expect(await executor.blocking { isOnBlockingThread })
    let isInTask = await Task(executorPreference: executor) { isOnBlockingThread }.value
    #expect(isInTask)
    #expect(!isOnBlockingThread)
  }

  @Test(arguments: [1, 3, 20])
  func `no more work runs at the same time than the limit allows, and no less`(limit: Int)
    async
  {
    let executor = BlockingExecutor(maximumThreadCount: limit)
    let (running, maximum) = (Shared(0), Shared(0))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<limit * 5 {
        group.addTask {
          await executor.blocking {
            let count = running.update { running in
              running += 1
              return running
            }
            maximum.update { $0 = max($0, count) }
            // The first ones end only when all threads work.
            if number < limit { while maximum.current < limit { usleep(100) } }
            running.update { $0 -= 1 }
          }
        }
      }
    }
    #expect(maximum.current == limit)
  }

  @Test func `work of one thread is done in order of arrival`() {
    let executor = BlockingExecutor(maximumThreadCount: 1)
    let (order, end) = (Shared<[Int]>([]), DispatchSemaphore(value: 0))
    for number in 0..<1000 {
      executor.run { order.update { $0.append(number) } }
    }
    executor.run { end.signal() }
    end.wait()
    #expect(order.current == Array(0..<1000))
  }

  private final class Captured: Sendable {}

  private struct Observed {
    weak var object: Captured?
  }

  private func isReleased(by executor: BlockingExecutor) async -> Bool {
    func use() async -> Observed {
      let object = Captured()
      await executor.blocking { withExtendedLifetime(object) {} }
      return Observed(object: object)
    }
    return await use().object == nil
  }

  @Test func `what work captured is released before its caller goes on`() async {
    let executor = BlockingExecutor(maximumThreadCount: 1)
    for _ in 0..<10_000 {
      let isReleased = await isReleased(by: executor)
      guard isReleased else { return #expect(isReleased) }
    }
  }

  /// The only thread has work that gives more work to other executors, which it must not wait for.
  @Test func `where no thread can be started, work waits for one that ends its own`() async {
    let count = Shared(0)
    let threads = IdleThreads(idleTime: .seconds(5)) {
      count.update { count in
        count += 1
        return count == 1
      }
    }
    let executors = (0..<4).map { _ in BlockingExecutor(maximumThreadCount: 1, threads: threads) }
    let order = Shared<[Int]>([])
    await withCheckedContinuation { continuation in
      executors[0].run {
        for number in 1..<4 {
          executors[number].run {
            order.update { $0.append(number) }
            if number == 3 { continuation.resume() }
          }
        }
        order.update { $0.append(0) }
      }
    }
    #expect(order.current == [0, 1, 2, 3])
  }

  @Test func `where there is room for a thread again, postponed work begins`() async {
    let hasRoom = Shared(false)
    let threads = IdleThreads(idleTime: .seconds(5)) { hasRoom.current }
    let executor = BlockingExecutor(maximumThreadCount: 2, threads: threads)
    async let first = executor.blocking { 1 }
    async let second = executor.blocking { 2 }
    hasRoom.update { $0 = true }
    #expect(await first + second == 3)
  }

  @Test func `an executor whose work does not end holds up no other`() async {
    let (hung, other) = (
      BlockingExecutor(maximumThreadCount: 4), BlockingExecutor(maximumThreadCount: 1)
    )
    let end = DispatchSemaphore(value: 0)
    for _ in 0..<10 { hung.run { end.wait() } }
    #expect(await other.blocking { 7 } == 7)
    for _ in 0..<10 { end.signal() }
    await hung.blocking {}
  }

  @Test func `errors keep their type`() async {
    let executor = BlockingExecutor(maximumThreadCount: 1)
    await #expect(throws: StoreError.self) {
      try await executor.blocking { () throws(StoreError) in
        throw StoreError(.io, store: "test", reason: "it failed")
      }
    }
  }

  @Test func `finished work is released, though its thread stays`() async {
    final class Store: Sendable {}
    let executor = BlockingExecutor(maximumThreadCount: 1)
    var store: Store? = Store()
    weak let released = store
    await executor.blocking { [store] in _ = store }
    store = nil
    // Released by the thread, after the answer.
    while released != nil { await Task.yield() }
  }

  /// Work comes while threads end, and in bursts of all sizes.
  @Test(arguments: [0, 20, 200, 5000])
  func `no work is lost while threads come and go`(microseconds: Int) async {
    let threads = IdleThreads(idleTime: .microseconds(microseconds))
    let executors = (1...8).map { BlockingExecutor(maximumThreadCount: $0, threads: threads) }
    let done = Shared(0)
    var random = SystemRandomNumberGenerator()
    let count = 10_000
    var begun = 0
    while begun < count {
      let burst = min(count - begun, Int.random(in: 1...100, using: &random))
      begun += burst
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<burst {
          let executor = executors[(number + begun) % executors.count]
          group.addTask { await executor.blocking { done.update { $0 += 1 } } }
        }
      }
    }
    #expect(done.current == count)
  }

  /// In a process of its own, where no other test refreshes.
  @Test func `handlers that block all threads of refreshes are asked to end in time`() async {
    await #expect(processExitsWith: .success) {
      let server = TokenServer()
      let (blockedCount, count) = (Shared(0), 32)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<count {
          server.next { _ in
            blockedCount.update { $0 += 1 }
            while !Task.isCancelled { usleep(1000) }
            throw CancellationError()
          }
          let session = try server.session {
            $0.maximumConcurrentCount = 100
            $0.handlerTimeout = .seconds(5)
          }
          try session.didLogIn(server.token(in: .seconds(10)))
          group.addTask { _ = try await session.validItem() }
        }
        // The timers of a handler and of a caller each begin beside it.
        while blockedCount.current < count || server.clock.sleeperCount < 2 * count {
          try await Task.sleep(for: .milliseconds(1))
        }
        server.clock.advance(by: .seconds(5))
        try await group.waitForAll()
      }
    }
  }
}
