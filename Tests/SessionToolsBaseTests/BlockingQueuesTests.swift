import Dispatch
import Foundation
import SessionToolsBase
import TestSupport
import Testing

/// Where the work of stores runs that blocks its thread.
///
/// In processes of their own, where no other test refreshes: the limits are those of the whole
/// process.
@Suite(.timeLimit(.minutes(20))) struct BlockingQueuesTests {
  @Test func `a refresh blocks its own thread`() async {
    await #expect(processExitsWith: .success) {
      let server = TokenServer()
      let isBlocked = try await Self.blocksOwnThread(server)
      #expect(isBlocked)
      let (own, queues) = (Self.thread, BlockingQueues("test", count: 1))
      let other = await queues.blocking { Self.thread }
      #expect(other != own)
    }
  }

  @Test func `a refresh does not block the actor that its handler calls`() async {
    await #expect(processExitsWith: .success) {
      let (server, actor) = (TokenServer(), StoreActor())
      server.next { request in
        let isFree = await actor.isFreeWhileItsWorkBlocks()
        #expect(isFree)
        return .refreshed(server.renewed(request.item))
      }
      let session = try server.session()
      try session.didLogIn(server.token(in: .zero))
      _ = try await session.validItem()
    }
  }

  @Test func `as much work as there are queues blocks threads of refreshes`() async {
    await #expect(processExitsWith: .success) {
      // 4 on threads of refreshes, and one on each queue; the others wait for a queue.
      try await Self.expectBlocked(8, storeCount: 1)
    }
  }

  @Test func `refreshes that are blocked leave threads to others`() async {
    await #expect(processExitsWith: .success) {
      // 16 on threads of refreshes.
      try await Self.expectBlocked(16 + 5 * 4, storeCount: 5)
    }
  }

  /// Lets refreshes block, and expects that another one is made nevertheless.
  private static func expectBlocked(_ expectedCount: Int, storeCount: Int) async throws {
    let server = TokenServer()
    let stores = (0..<storeCount).map { BlockingQueues("test \($0)", count: 4) }
    let (blockedCount, end) = (Shared(0), DispatchSemaphore(value: 0))
    let count = 40
    let sessions = try (0..<count).map { _ in try session(server) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { for _ in 0..<count { end.signal() } }
      for (number, session) in sessions.enumerated() {
        let queues = stores[number % storeCount]
        server.next { request in
          await queues.blocking {
            blockedCount.update { $0 += 1 }
            end.wait()
          }
          return .refreshed(server.renewed(request.item))
        }
        group.addTask { _ = try await session.validItem() }
      }
      try await wait(until: "\(expectedCount) are blocked") {
        blockedCount.current == expectedCount && server.requests.count == count
      }
      #expect(try await session(server).validItem().number == 1)
      #expect(blockedCount.current == expectedCount)
    }
    #expect(blockedCount.current == count)
    #expect(try await blocksOwnThread(server))
  }

  private static func session(_ server: TokenServer) throws -> UserSession<Token> {
    let session = try server.session { $0.maximumConcurrentCount = 100 }
    try session.didLogIn(server.token(in: .zero))
    return session
  }

  /// Whether a refresh blocks its own thread.
  private static func blocksOwnThread(_ server: TokenServer) async throws -> Bool {
    let (queues, isSame) = (BlockingQueues("test", count: 1), Shared(false))
    server.next { request in
      let own = Self.thread
      let other = await queues.blocking { Self.thread }
      isSame.update { $0 = own == other }
      return .refreshed(server.renewed(request.item))
    }
    _ = try await session(server).validItem()
    return isSame.current
  }

  fileprivate static var thread: UInt { UInt(pthread_self()) }
}

/// An actor of a program, through which all of it uses a store.
private actor StoreActor {
  private let queues = BlockingQueues("test", count: 1)

  /// Whether another task can use the actor while work for it blocks.
  func isFreeWhileItsWorkBlocks() async -> Bool {
    let isUsed = DispatchSemaphore(value: 0)
    Task { self.use(isUsed) }
    return await queues.blocking { isUsed.wait(timeout: .now() + 60) == .success }
  }

  private func use(_ semaphore: DispatchSemaphore) { semaphore.signal() }
}
