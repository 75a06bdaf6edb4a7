import Dispatch
import Foundation
import SessionAuthentication
import SessionToolsTesting
import Testing

struct DeferredWorkTests {
  @Test func `work waits for authentication, and asks no question`() async throws {
    let test = TestGate()
    let waiter = Task { try await test.gate.whenAuthenticated { 42 } }
    let answers = Recorder<Bool>()
    test.gate.deferUntilAuthenticated { answers.append((try? $0.get()) != nil) }
    #expect(test.askedCount == 0)
    #expect(answers.all.isEmpty)
    try await test.open()
    #expect(try await waiter.value == 42)
    try await waitUntil { answers.all == [true] }
    test.gate.deferUntilAuthenticated { answers.append((try? $0.get()) != nil) }
    // At once if the gate is open, but after the notifications that another thread is sending.
    try await waitUntil { answers.all == [true, true] }
  }

  @Test func `a failure ends waiting work, and later work waits for the next question`()
    async throws
  {
    let test = TestGate(.failure(.userCancelled), .success)
    let answers = Recorder<AuthenticationError.Code?>()
    func deferWork() {
      test.gate.deferUntilAuthenticated { result in
        if case .failure(let error) = result {
          answers.append(error.code)
        } else {
          answers.append(nil)
        }
      }
    }
    deferWork()
    await expectFailure(AuthenticationError.userCancel) { try await test.gate.authenticate() }
    #expect(answers.all == [AuthenticationError.userCancel])
    deferWork()
    try await test.open()
    #expect(answers.all == [AuthenticationError.userCancel, nil])
  }

  @Test func `work can be cancelled, can time out, and ends with its scene`() async throws {
    let test = TestGate()
    test.connect("a")
    let codes = Recorder<AuthenticationError.Code>()
    func deferWork(in scene: SceneIdentifier? = nil, timeout: Duration? = nil) -> DeferredWork {
      test.gate.deferUntilAuthenticated(in: scene, timeout: timeout) { result in
        if case .failure(let error) = result { codes.append(error.code) }
      }
    }
    let work = deferWork()
    work.cancel()
    work.cancel()
    #expect(codes.all == [AuthenticationError.appCancel])
    _ = deferWork(timeout: .seconds(10))
    await test.clock.waitForSleeper(within: .seconds(10))
    test.clock.advance(by: .seconds(10))
    try await waitUntil { codes.all.count == 2 }
    #expect(codes.all.last == AuthenticationError.timedOut)
    _ = deferWork(in: "a")
    test.gate.disconnect("a")
    #expect(codes.all.count == 3 && codes.all.last == AuthenticationError.appCancel)
    _ = deferWork(in: "a")
    #expect(codes.all.count == 4, "there is no such scene any more")
    try await test.open()
    #expect(codes.all.count == 4, "one of them was answered twice")
  }

  @Test func `a cancelled task returns, and the question continues for the others`() async throws {
    let test = TestGate(.waiting)
    let first = Task { try await test.gate.authenticate() }
    try await test.waitUntilAsked()
    let second = Task { try await test.gate.authenticate() }
    first.cancel()
    await expectFailure(AuthenticationError.appCancel) { try await first.value }
    test.authenticator.answer(.success(()))
    try await second.value
    #expect(test.askedCount == 1)
  }

  @Test func `a task that was already cancelled does not wait`() async throws {
    let test = TestGate()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await test.gate.whenAuthenticated { 1 }
    }
    task.cancel()
    await expectFailure(AuthenticationError.appCancel) { try await task.value }
  }

  @Test func `no more work may wait than the configuration allows`() async throws {
    let test = TestGate { $0.maximumDeferredCount = 2 }
    let codes = Recorder<AuthenticationError.Code>()
    for _ in 0..<3 {
      test.gate.deferUntilAuthenticated { result in
        if case .failure(let error) = result { codes.append(error.code) }
      }
    }
    #expect(codes.all == [AuthenticationError.busy])
  }

  @Test func `work of many threads is answered once each`() async throws {
    let test = TestGate { $0.requestsAutomatically = false }
    let answers = Recorder<Int>()
    let (threadCount, workCount) = (8, 200)
    await withCheckedContinuation { continuation in
      let group = DispatchGroup()
      for thread in 0..<threadCount {
        group.enter()
        Thread.detachNewThread {
          for number in 0..<workCount {
            let identifier = thread * workCount + number
            let work = test.gate.deferUntilAuthenticated { _ in answers.append(identifier) }
            switch number % 5 {
            case 0: test.gate.connect(SceneIdentifier("\(thread)"), isActive: true) { _ in }
            case 1: test.gate.handle(.didEnterBackground, in: SceneIdentifier("\(thread)"))
            case 2: test.gate.invalidate()
            case 3: Task { try? await test.gate.authenticate() }
            default: work.cancel()
            }
          }
          group.leave()
        }
      }
      group.notify(queue: .global()) { continuation.resume() }
    }
    test.gate.handle(.sessionUnlocked)
    try await waitUntil {
      try? await test.gate.authenticate()
      return answers.all.count >= threadCount * workCount
    }
    #expect(answers.all.sorted() == Array(0..<threadCount * workCount))
  }
}
