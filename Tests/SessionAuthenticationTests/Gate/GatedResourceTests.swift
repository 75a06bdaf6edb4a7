import Foundation
import SessionAuthentication
import SessionToolsTesting
import Testing

/// Resources that are in memory only while a gate is open.
struct GatedResourceTests {
  @Test func `a lock that wipes late does not wipe what the next question opens`() async throws {
    let (events, mayGoOn) = (Recorder<String>(), DispatchSemaphore(value: 0))
    let gate = AuthenticationGate(configuration: .patient) { _ in
      events.append("asked")
      return PermanentToken()
    }
    gate.attach(
      GatedResource {
        if !events.all.contains("wiping"), events.all.last == "opened" {
          events.append("wiping")
          mayGoOn.wait()
        }
        events.append("wiped")
      } unlock: {
        events.append("opened")
      })
    try await gate.authenticate()
    let locking = Thread { gate.invalidate() }
    locking.start()
    try await waitUntil { events.all.last == "wiping" }
    let next = Task { try await gate.authenticate() }
    try await waitUntil { gate.isAuthenticating }
    for _ in 0..<1000 { await Task.yield() }
    #expect(events.all.last == "wiping")
    mayGoOn.signal()
    try await next.value
    #expect(events.all == ["wiped", "asked", "opened", "wiping", "wiped", "asked", "opened"])
  }

  @Test func `a lock before the end of a question wipes what the question opened`() async throws {
    let (opened, wiped) = (Recorder<Void>(), Recorder<Void>())
    let gate = AuthenticationGate(configuration: .patient) { _ in PermanentToken() }
    gate.attach(
      GatedResource {
        wiped.append(())
      } unlock: {
        opened.append(())
      })
    gate.attach(
      GatedResource {
      } unlock: {
        try await Task.sleep(for: .seconds(3600))
      })
    let waiter = Task { try await gate.authenticate() }
    try await waitUntil { opened.all.count == 1 }
    let count = wiped.all.count
    gate.handle(.willSleep)
    #expect(wiped.all.count > count)
    await expectFailure(AuthenticationError.systemCancel) { try await waiter.value }
  }

  @Test func `a gate that is released leaves nothing open`() async throws {
    let wiped = Recorder<Void>()
    do {
      let gate = AuthenticationGate(configuration: .patient) { _ in PermanentToken() }
      try await gate.authenticate()
      gate.attach(
        GatedResource {
          wiped.append(())
        } unlock: {
        })
    }
    try await waitUntil { wiped.all.count == 1 }
  }

  @Test func `resources are wiped before a lock returns, and opened before anyone is let in`()
    async throws
  {
    let events = Recorder<String>()
    let test = TestGate()
    test.gate.attach(
      GatedResource {
        events.append("wiped")
      } unlock: {
        events.append("opened")
      })
    #expect(events.all == ["wiped"])
    test.gate.connect("a") { events.append($0.name) }
    try await test.open()
    #expect(events.all == ["wiped", "locked", "authenticating", "opened", "authenticated"])
    test.gate.handle(.willSleep)
    #expect(events.all.suffix(2) == ["wiped", "locked"])
  }

  @Test func `a resource that cannot be opened keeps the gate locked`() async throws {
    struct Broken: Error {}
    let wiped = Recorder<Int>()
    let test = TestGate()
    test.gate.attach(
      GatedResource {
        wiped.append(1)
      } unlock: {
      })
    test.gate.attach(
      GatedResource {
        wiped.append(2)
      } unlock: {
        throw Broken()
      })
    let error = await expectFailure(AuthenticationError.unlockFailed) {
      try await test.gate.authenticate()
    }
    #expect(error?.underlying is Broken)
    #expect(test.gate.requiresAuthentication)
    #expect(wiped.all == [1, 2, 1, 2], "what was opened before is wiped again")
  }
}
