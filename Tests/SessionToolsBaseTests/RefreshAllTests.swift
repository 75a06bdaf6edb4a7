import Foundation
import SessionToolsBase
import Testing

@Suite struct `refreshing several` {
  private func words(_ errors: [RefreshError]?) -> [String]? { errors?.map(\.word) }

  @Test func `the errors are in the order of the sequence`() async {
    let targets: [any Refreshable] = [
      Target.later(.noToken), Target.fails("a"), Target.works, Target.drops, Target.callsTwice,
      Target.later(nil), Target.fails("b"),
    ]
    let errors = await withCheckedContinuation { continuation in
      targets.refresh { continuation.resume(returning: $0) }
    }
    #expect(words(errors) == ["noToken", "a", "abandoned", "b"])
  }

  @Test func `the result is nil if all succeed`() async {
    let targets: [any Refreshable] = [Target.works, Target.later(nil)]
    let errors = await withCheckedContinuation { continuation in
      targets.refresh { continuation.resume(returning: $0) }
    }
    #expect(errors == nil)
  }

  @Test func `an empty sequence is done at once`() async {
    let calls = Shared<[Bool]>([])
    let none: [any Refreshable] = []
    none.refresh { errors in calls.update { $0.append(errors == nil) } }
    [Target]().refresh { errors in calls.update { $0.append(errors == nil) } }
    [Target]().refreshAll { failures in calls.update { $0.append(failures.isEmpty) } }
    #expect(calls.current == [true, true, true])
    #expect(await none.refreshAll().isEmpty)
  }

  @Test func `sequences of one type and of any shape are refreshed too`() async {
    let errors = Shared<[[String]?]>([])
    let array = [Target.works, .fails("a")]
    array.refresh { all in errors.update { $0.append(all?.map(\.word)) } }
    array.lazy.reversed().refresh { all in errors.update { $0.append(all?.map(\.word)) } }
    #expect(errors.current == [["a"], ["a"]])
    #expect(await array.refreshAll().map(\.target.name) == ["a"])
  }

  @Test func `a failure has the target that was to be refreshed`() async {
    let targets = [Target.fails("a"), .works, .later(.noToken)]
    let failures = await targets.refreshAll()
    #expect(failures.map(\.target.name) == ["a", ""])
    #expect(failures.map(\.error.word) == ["a", "noToken"])
    let mixed: [any Refreshable] = [Target.works, Target.fails("b")]
    let names = await mixed.refreshAll().map { ($0.target as? Target)?.name }
    #expect(names == ["b"])
    let heard = Shared<[String]>([])
    mixed.refreshAll { failures in
      heard.update { $0 = failures.map { "\(($0.target as? Target)?.name ?? "?")" } }
    }
    #expect(heard.current == ["b"])
  }

  @Test func `the completion runs on the thread that finished last, not on the main queue`() async {
    // Nothing serves the main queue while this thread waits for the answer.
    let thread = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let isDone = DispatchSemaphore(value: 0)
        let thread = Shared<ObjectIdentifier?>(nil)
        let targets: [any Refreshable] = [Target.works, Target.works]
        targets.refresh { _ in
          thread.update { $0 = ObjectIdentifier(Thread.current) }
          isDone.signal()
        }
        isDone.wait()
        continuation.resume(returning: thread.current == ObjectIdentifier(Thread.current))
      }
    }
    #expect(thread)
  }

  @Test func `many targets that end on many threads are answered once, and none is lost`() async {
    for _ in 0..<20 {
      let calls = Shared(0)
      let targets = (0..<50).map { number -> any Refreshable in
        number.isMultiple(of: 3) ? Target.later(.noToken) : Target.later(nil)
      }
      let errors = await withCheckedContinuation { continuation in
        targets.refresh { errors in
          calls.update { $0 += 1 }
          continuation.resume(returning: errors)
        }
      }
      #expect(errors?.count == 17)
      #expect(calls.current == 1)
    }
  }

  /// iOS-SessionTools' own tests expect this.
  @Test func `a session that occurs twice calls its old handler twice, each time`() async throws {
    for isSignedIn in [false, true] {
      for round in 0..<200 {
        let calls = Shared(0)
        let session = UserSession(
          container: OldContainer<User>(), storageIdentifier: "user", notificationPoster: nil,
          refreshHandler: { completion in
            calls.update { $0 += 1 }
            completion(nil)
          })
        if isSignedIn { try session.didLogIn(User(id: "ada")) }
        let sessions: [any Refreshable] = [session, session]
        #expect(await sessions.refreshAll().isEmpty, "round \(round)")
        #expect(calls.current == 2, "round \(round)")
      }
    }
  }

  @Test func `old handlers of one item are called in the order of the sequence`() async throws {
    for round in 0..<200 {
      let (container, calls) = (AnySessionContainer(OldContainer<User>()), Shared<[Int]>([]))
      let sessions = (0..<5).map { number in
        UserSession(
          container: container, storageIdentifier: "user", notificationPoster: nil,
          refreshHandler: { completion in
            calls.update { $0.append(number) }
            let completion = Unchecked(value: completion)
            Thread.detachNewThread {
              completion.value(
                number.isMultiple(of: 2)
                  ? nil : .unableToRefresh(error: TestError(text: "\(number)")))
            }
          })
      }
      let failures = await sessions.refreshAll()
      #expect(calls.current == [0, 1, 2, 3, 4], "round \(round)")
      #expect(failures.map(\.error.word) == ["1", "3"], "round \(round)")
    }
  }

  /// The requests to the refreshers of a round, and the failures.
  private struct Round: Equatable {
    var requests: [String] = []
    var failures: [String] = []
    var stored: Int?
  }

  /// Refreshes four sessions of one item, each with a refresher of its own, of which one fails.
  private func round(
    failing: Int? = nil, with outcome: RefreshOutcome<Token> = .transientFailure(TestError())
  ) async throws -> Round {
    let (container, requests) = (
      try StoreContainer<Token>(MemoryStore(), service: "mail"), Shared<[String]>([])
    )
    let sessions = (0..<4).map { number in
      var policy = RefreshPolicy()
      policy.firstPause = .zero
      if number == failing { policy.maximumAttemptCount = 1 }
      return UserSession(
        container: container, storageIdentifier: "token",
        refresher: SessionRefresher(policy: policy) { request in
          requests.update { $0.append("\(number) with \(request.item.number)") }
          if number == failing { return outcome }
          return .refreshed(Token(number: request.item.number + 1))
        })
    }
    try sessions[0].didLogIn(Token())
    let failures = await (sessions as [any Refreshable]).refreshAll()
    return Round(
      requests: requests.current,
      failures: failures.map { failure in
        let number = sessions.firstIndex { $0 === failure.target as? UserSession<Token> } ?? -1
        guard case .unableToRefresh(let error as SessionError) = failure.error else {
          return "\(number) \(failure.error.word)"
        }
        return "\(number) \(error.code)"
      }, stored: sessions[0].currentUser?.number)
  }

  @Test func `refreshers of one item are called in order, each with the item stored before`()
    async throws
  {
    let expected = Round(
      requests: ["0 with 0", "1 with 1", "2 with 2", "3 with 3"], failures: [], stored: 4)
    for number in 0..<200 {
      #expect(try await round() == expected, "round \(number)")
    }
  }

  @Test func `the error of one refresher is its own, and the others continue`() async throws {
    let expected = Round(
      requests: ["0 with 0", "1 with 1", "2 with 1", "3 with 2"],
      failures: ["1 temporarilyFailed"], stored: 3)
    for number in 0..<200 {
      #expect(try await round(failing: 1) == expected, "round \(number)")
    }
  }

  @Test func `after a rejection the other refreshers have nothing to refresh`() async throws {
    let expected = Round(
      requests: ["0 with 0", "1 with 1"], failures: ["1 rejected", "2 noToken", "3 noToken"],
      stored: nil)
    for number in 0..<200 {
      #expect(
        try await round(failing: 1, with: .rejected(TestError())) == expected, "round \(number)")
    }
  }

  @Test func `sessions of different items do not wait for each other`() async throws {
    // Each handler ends when the other has begun.
    let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let container = try StoreContainer<User>(MemoryStore(), service: "mail")
    let sessions = [("a", first, second), ("b", second, first)].map { name, own, other in
      UserSession(
        container: container, storageIdentifier: name, notificationPoster: nil,
        refreshHandler: { completion in
          own.signal()
          other.wait()
          completion(nil)
        })
    }
    #expect(await sessions.refreshAll().isEmpty)
  }

  @Test func `a session that occurs twice has two answers`() async {
    let session = UserSession(
      container: OldContainer<User>(), storageIdentifier: "user", notificationPoster: nil,
      refreshHandler: { $0(.noToken) })
    let sessions: [any Refreshable] = [session, session]
    #expect(await sessions.refreshAll().map(\.error.word) == ["noToken", "noToken"])
  }
}
