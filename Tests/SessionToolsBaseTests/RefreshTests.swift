import Foundation
import SessionToolsBase
import SessionToolsTestStores
import Testing

@Suite struct `refreshing a user session` {
  private func session(_ handler: RefreshHandler? = nil) -> UserSession<User> {
    UserSession(
      container: OldContainer<User>(), storageIdentifier: "user", notificationPoster: nil,
      refreshHandler: handler)
  }

  /// Returns all answers of one call.
  private func answers(of session: UserSession<User>) async -> [String] {
    let (answers, answer) = AsyncStream.makeStream(of: String.self)
    session.refresh { error in answer.yield(error?.word ?? "done") }
    var iterator = answers.makeAsyncIterator()
    var words = [await iterator.next() ?? "none"]
    // A second answer to the first call would arrive before the answer to another call.
    _ = try? await session.refreshNow()
    answer.finish()
    while let word = await iterator.next() { words.append(word) }
    return words
  }

  @Test func `the handler's answer is passed on`() async {
    #expect(await answers(of: session { $0(nil) }) == ["done"])
    #expect(await answers(of: session { $0(.noToken) }) == ["noToken"])
  }

  @Test func `a call without a handler is answered at once`() {
    let answers = Shared<[String]>([])
    session().refresh { error in answers.update { $0.append(error?.word ?? "done") } }
    #expect(answers.current == ["missing"])
  }

  @Test func `a handler is not called for a user who signed out while it waited`() async throws {
    let store = OneStepStore()
    let calls = Shared(0)
    let session = UserSession(
      container: try StoreContainer<User>(store, service: "mail"), storageIdentifier: "user",
      notificationPoster: nil,
      refreshHandler: { completion in
        calls.update { $0 += 1 }
        completion(nil)
      })
    try await session.signIn(User(id: "ada"))
    let name = try ItemName("user", in: "mail")
    let answer = try await store.withExclusiveAccess(to: name.refreshLock, timeout: .seconds(1)) {
      let answer = Task { await answers(of: session) }
      // The second one is the refresh, which has found the user.
      while store.exclusiveNames.count < 2 { await Task.yield() }
      try await session.remove()
      return answer
    }
    #expect(await answer.value.first == "noToken")
    #expect(calls.current == 1, "the second call has no user to wait for")
  }

  @Test func `a handler is called for an item that cannot be read, and may replace it`()
    async throws
  {
    let (store, calls) = (MemoryStore(), Shared(0))
    let container = try StoreContainer<User>(store, service: "mail")
    let others = Session(container: container, storageIdentifier: "user")
    let session = UserSession(
      container: container, storageIdentifier: "user", notificationPoster: nil,
      refreshHandler: { completion in
        calls.update { $0 += 1 }
        try? others.save(User(id: "ada"))
        completion(nil)
      })
    try await store.put(SecretBytes(utf8: "x"), for: ItemName("user", in: "mail"))
    let (answers, answer) = AsyncStream.makeStream(of: String.self)
    session.refresh { answer.yield($0?.word ?? "done") }
    #expect(await answers.first { _ in true } == "done")
    #expect(calls.current == 1)
    #expect(session.currentUser?.id == "ada")
  }

  @Test func `an item that another process refreshed meanwhile is not refreshed again`()
    async throws
  {
    let (server, store) = (TokenServer(), OneStepStore())
    let session = try server.session(store)
    try await session.signIn(server.token(in: .zero))
    let name = try ItemName("token", in: "mail")
    let newer = try JSONEncoder().encode(server.token(in: nil, number: 7))
    let answer = try await store.withExclusiveAccess(to: name.refreshLock, timeout: .seconds(1)) {
      let (answers, answer) = AsyncStream.makeStream(of: String.self)
      session.refresh { answer.yield($0?.word ?? "done") }
      // The second one is the refresh, which has found the old item.
      while store.exclusiveNames.count < 2 { await Task.yield() }
      try await store.put(SecretBytes(newer), for: name)
      return answers
    }
    #expect(await answer.first { _ in true } == "done")
    #expect(server.requests.isEmpty)
    #expect(session.currentUser?.number == 7)
  }

  @Test(arguments: [(-100.0, false), (55, true)])
  func `an item that the handler did not replace is used until it expires`(
    lifetime: TimeInterval, isUsable: Bool
  ) async throws {
    let container = try StoreContainer<Token>(MemoryStore(), service: "mail")
    let others = Session(container: container, storageIdentifier: "token")
    let calls = Shared(0)
    let session = UserSession(
      container: container, storageIdentifier: "token", notificationPoster: nil,
      refreshHandler: { completion in
        let count = calls.update { count in
          count += 1
          return count
        }
        if count == 2 { try? others.updateItem(Token(number: 1, expirationDate: nil)) }
        completion(nil)
      })
    try await session.signIn(Token(number: 0, expirationDate: Date() + lifetime))
    if isUsable {
      #expect(try await session.validItem().number == 0)
    } else {
      let error = await expectFailure(SessionError.expired) { try await session.validItem() }
      #expect(error?.description.contains("though it was refreshed") == true)
    }
    #expect(try await session.validItem().number == 1)
    #expect(calls.current == 2)
  }

  /// The two refreshes may overlap, or one may end before the other begins.
  @Test func `each session of an item calls its own handler, and no error is lost`() async throws {
    for round in 0..<200 {
      let calls = Shared(0)
      let container = AnySessionContainer(OldContainer<User>())
      let handlers: [RefreshHandler] = [
        { completion in
          calls.update { $0 += 1 }
          completion(nil)
        },
        { completion in
          calls.update { $0 += 1 }
          completion(.unableToRefresh(error: TestError(text: "mine")))
        },
      ]
      let sessions = handlers.map {
        UserSession(
          container: container, storageIdentifier: "user", notificationPoster: nil,
          refreshHandler: $0)
      }
      try sessions[0].didLogIn(User(id: "ada"))
      let errors = await withCheckedContinuation { continuation in
        (sessions as [any Refreshable]).refresh { errors in
          continuation.resume(returning: (errors ?? []).map(\.word))
        }
      }
      #expect(calls.current == 2, "round \(round)")
      #expect(errors == ["mine"], "round \(round)")
    }
  }

  @Test func `a handler that answers twice counts once`() async {
    let handler: RefreshHandler = { completion in
      completion(.noToken)
      completion(nil)
    }
    #expect(await answers(of: session(handler)) == ["noToken"])
  }

  @Test func `a handler that drops its completion is reported as abandoned`() async {
    #expect(await answers(of: session { _ in }) == ["abandoned"])
  }

  @Test func `a handler that keeps its completion is abandoned when it releases it`() async {
    let kept = Shared<Unchecked<RefreshCompletion>?>(nil)
    let (calls, call) = AsyncStream.makeStream(of: Void.self)
    let session = session { completion in
      let completion = Unchecked(value: completion)
      kept.update { $0 = completion }
      call.finish()
    }
    let answers = Shared<[String]>([])
    let refreshing = Task {
      let error = await #expect(throws: RefreshError.self) { try await session.refreshNow() }
      answers.update { $0.append(error?.word ?? "done") }
    }
    for await _ in calls {}
    #expect(answers.current.isEmpty)
    kept.update { $0 = nil }
    await refreshing.value
    #expect(answers.current == ["abandoned"])
  }

  @Test func `a handler set later is the one that is called`() async {
    let session = session { $0(.noToken) }
    session.refreshHandler = { $0(nil) }
    #expect(await answers(of: session) == ["done"])
    session.refreshHandler?({ error in #expect(error == nil) })
    session.refreshHandler = nil
    #expect(session.refreshHandler == nil)
    #expect(await answers(of: session) == ["missing"])
  }

  @Test func `the handler is set and called by many threads`() async {
    let session = session { $0(nil) }
    let answers = Shared(0)
    _ = await onThreads(8) { number in
      for _ in 0..<200 {
        if number.isMultiple(of: 2) {
          session.refreshHandler = { $0(nil) }
        } else {
          let isAnswered = DispatchSemaphore(value: 0)
          session.refresh { _ in
            answers.update { $0 += 1 }
            isAnswered.signal()
          }
          isAnswered.wait()
        }
      }
    }
    #expect(answers.current == 4 * 200)
  }

  @Test func `many calls of several sessions of one item are answered once each`() async throws {
    let (calls, store) = (Shared((now: 0, most: 0, all: 0)), MemoryStore())
    let container = try StoreContainer<User>(store, service: "mail")
    let sessions = (0..<5).map { _ in
      UserSession(
        container: container, storageIdentifier: "user", notificationPoster: nil,
        refreshHandler: { completion in
          calls.update { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) }
          let completion = Unchecked(value: completion)
          Thread.detachNewThread {
            calls.update { $0.now -= 1 }
            completion.value(nil)
          }
        })
    }
    try sessions[0].didLogIn(User(id: "ada"))
    let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
    for number in 0..<100 {
      sessions[number % 5].refresh { answer.yield($0 == nil) }
    }
    var count = 0
    for await isDone in answers {
      #expect(isDone)
      count += 1
      if count == 100 { break }
    }
    #expect(calls.current.most == 1, "two at a time")
    #expect((1...100).contains(calls.current.all))
  }

  @Test func `a refresher also answers completions`() async throws {
    let server = TokenServer()
    let session = try server.session(MemoryStore())
    let error = await #expect(throws: RefreshError.self) { try await session.refreshNow() }
    #expect(error?.word == "noToken")
    try session.didLogIn(server.token(in: .seconds(3600)))
    try await session.refreshNow()
    #expect(session.currentUser?.number == 1)
    server.next { _ in .rejected(TestError()) }
    await #expect(throws: RefreshError.self) { try await session.refreshNow() }
    #expect(!session.isLoggedIn)
  }

  @Test func `refreshNow waits for the answer`() async {
    await #expect(throws: Never.self) { try await session { $0(nil) }.refreshNow() }
    for (session, word) in [
      (session { $0(.noToken) }, "noToken"), (session(), "missing"),
      (session { _ in }, "abandoned"),
    ] {
      let error = await #expect(throws: RefreshError.self) { try await session.refreshNow() }
      #expect(error?.word == word)
    }
  }

  @Test func `refreshNow takes one answer from any Refreshable`() async throws {
    try await Target.callsTwice.refreshNow()
    try await Target.later(nil).refreshNow()
    let error = await #expect(throws: RefreshError.self) { try await Target.drops.refreshNow() }
    #expect(error?.word == "abandoned")
  }

  @Test func `its errors say what to do`() async {
    for (session, text) in [
      (session(), "set its refreshHandler"), (session { _ in }, "without calling"),
    ] {
      let error = await #expect(throws: RefreshError.self) { try await session.refreshNow() }
      guard case .unableToRefresh(let cause)? = error else { continue }
      #expect("\(cause)".contains("session user: ") && "\(cause)".contains(text))
    }
  }
}
