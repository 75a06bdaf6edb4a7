import Foundation
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestSupport
import Testing

/// The state after refreshes have ended, and before the process ends.
///
/// In processes of their own, where no other test refreshes: the limit and the end are those of the
/// whole process.
@Suite(.timeLimit(.minutes(20))) struct `the end of refreshes` {
  @Test func `waits for the answer to a handler of iOS-SessionTools`() async {
    await #expect(processExitsWith: .success) {
      let container = try StoreContainer<User>(MemoryStore(), service: "mail")
      let (calls, called) = AsyncStream.makeStream(of: HandlerCall.self)
      let session = UserSession(
        container: container, storageIdentifier: "user", notificationPoster: nil,
        refreshHandler: { called.yield(HandlerCall(completion: $0)) })
      try session.didLogIn(User(id: "ada"))
      session.refresh { _ in }
      var iterator = calls.makeAsyncIterator()
      let call = try #require(await iterator.next())
      #expect(await !SessionRefreshes.end(within: .milliseconds(200)))
      call.completion(nil)
      #expect(await SessionRefreshes.end(within: .seconds(300)))
    }
  }

  @Test func `stores an item that could not be stored before, or reports the failure`() async {
    await #expect(processExitsWith: .success) {
      let server = TokenServer()
      let store = FaultyStore(MemoryStore())
      let session = try server.session(store)
      try session.didLogIn(server.token(in: .zero))
      let name = try ItemName("token", in: "mail")
      store.inject(.failing(StoreError.noSpace), into: [.apply], of: name, times: nil)
      await expectFailure(StoreError.noSpace) { try await session.validItem() }
      #expect(await !SessionRefreshes.end(within: .seconds(300)))
      store.removeFaults()
      #expect(await SessionRefreshes.end(within: .seconds(300)))
      #expect(try await session.item()?.number == 1)
      #expect(server.spent == [0])
    }
  }

  @Test func `does not wait for a refresh between two tries, nor do other refreshes`() async {
    await #expect(processExitsWith: .success) {
      let server = TokenServer()
      let sessions = try (0..<2).map { _ in
        try server.session(MemoryStore()) { $0.maximumConcurrentCount = 1 }
      }
      for session in sessions { try session.didLogIn(server.token(in: .zero)) }
      server.failNext()
      let paused = Task { try await sessions[0].validItem() }
      await server.clock.waitForSleeper(within: .seconds(10))
      #expect(try await sessions[1].validItem().number == 1)
      #expect(await SessionRefreshes.end(within: .seconds(300)))
      server.clock.advance(by: .seconds(10))
      await expectFailure(SessionError.temporarilyFailed) { try await paused.value }
    }
  }

  @Test func `is not reached by a caller that is cancelled`() async {
    await #expect(processExitsWith: .success) {
      let (server, door) = (TokenServer(), Door())
      let session = try server.session(MemoryStore())
      try session.didLogIn(server.token(in: .zero))
      server.next { [server] request in
        await door.pass()
        return .refreshed(server.renewed(request.item))
      }
      let refreshing = Task { try await session.validItem().number }
      await door.waitForArrival()
      for _ in 0..<50 {
        let ending = Task { await SessionRefreshes.end(within: .seconds(300)) }
        ending.cancel()
        #expect(await !ending.value)
      }
      door.open()
      #expect(try await refreshing.value == 1)
      #expect(await SessionRefreshes.end(within: .seconds(300)))
    }
  }

  @Test func `releases the sessions that waited for their turn`() async {
    await #expect(processExitsWith: .success) {
      let server = TokenServer()
      var sessions = try (0..<50).map { _ in
        try server.session(MemoryStore()) { $0.maximumConcurrentCount = 1 }
      }
      let references = sessions.map(WeakSession.init)
      let underWay = Shared((count: 0, maximum: 0))
      for _ in sessions {
        server.next { [server] request in
          underWay.update { $0 = ($0.count + 1, max($0.maximum, $0.count + 1)) }
          await Task.yield()
          underWay.update { $0.count -= 1 }
          return .refreshed(server.renewed(request.item))
        }
      }
      for session in sessions { try session.didLogIn(server.token(in: .zero)) }
      await withTaskGroup(of: Void.self) { group in
        for session in sessions { group.addTask { _ = try? await session.validItem() } }
      }
      #expect(server.spent.count == 50)
      #expect(underWay.current.maximum == 1)
      sessions = []
      // The last task may just be ending.
      try await wait(until: "no session is left") {
        references.allSatisfy { $0.session == nil }
      }
    }
  }

  /// As in a program that makes a session for each request.
  @Test func `of a session does not lose an item that could not be stored`() async throws {
    let server = TokenServer()
    let store = FaultyStore(MemoryStore())
    var session: UserSession<Token>? = try server.session(store)
    try session?.didLogIn(server.token(in: .zero))
    let name = try ItemName("token", in: "mail")
    store.inject(.failing(StoreError.noSpace), into: [.apply], of: name)
    await expectFailure(StoreError.noSpace) { [session] in try await session?.validItem() }
    let reference = session.map(WeakSession.init)
    session = nil
    try await wait(until: "the session is gone") { reference?.session == nil }
    #expect(try await server.session(store).validItem().number == 1)
    #expect(server.spent == [0])
  }
}

/// Unchecked, because only its receiver calls it.
private struct HandlerCall: @unchecked Sendable {
  let completion: RefreshCompletion
}

private final class WeakSession {
  weak var session: UserSession<Token>?

  init(_ session: UserSession<Token>) {
    self.session = session
  }
}
