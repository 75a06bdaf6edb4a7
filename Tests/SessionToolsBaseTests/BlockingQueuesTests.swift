import Dispatch
import Foundation
import SessionToolsBase
import TestSupport
import Testing

/// Where the work of stores runs that blocks its thread.
@Suite(.timeLimit(.minutes(20))) struct BlockingQueuesTests {
  @Test func `a refresh blocks its own thread, and a task of the cooperative pool none`()
    async throws
  {
    let (server, queues) = (TokenServer(), BlockingQueues("test", count: 1))
    server.next { request in
      let own = Self.thread
      #expect(await queues.blocking { Self.thread } == own)
      return .refreshed(server.renewed(request.item))
    }
    let session = try server.session()
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    let own = Self.thread
    #expect(await queues.blocking { Self.thread } != own)
  }

  @Test func `refreshes that are blocked leave threads to others`() async {
    await #expect(processExitsWith: .success) {
      let (server, queues) = (TokenServer(), BlockingQueues("test", count: 4))
      let (isBlocked, end) = (Shared(0), DispatchSemaphore(value: 0))
      let count = 40
      let sessions = try (0...count).map { _ in
        try server.session { $0.largestConcurrentCount = count + 1 }
      }
      for session in sessions { try session.didLogIn(server.token(in: .zero)) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for session in sessions.prefix(count) {
          server.next { request in
            await queues.blocking {
              isBlocked.update { $0 += 1 }
              end.wait()
            }
            return .refreshed(server.renewed(request.item))
          }
          group.addTask { _ = try await session.validItem() }
        }
        // 16 on threads of refreshes, and one on each queue; the others wait for a queue.
        try await wait(until: "20 are blocked") {
          isBlocked.current == 20 && server.requests.count == count
        }
        #expect(try await sessions[count].validItem().number == 1)
        for _ in 0..<count { end.signal() }
        try await group.waitForAll()
      }
      #expect(isBlocked.current == count)
    }
  }

  private static var thread: UInt { UInt(pthread_self()) }
}
