import Foundation
import SessionAuthentication
import SessionToolsTesting
import Testing

struct PrivacyShieldTests {
  /// A window with a field that has the focus, and a cover.
  final class Window: Sendable {
    let events = Recorder<String>()
    let focused: String

    init(focused: String) {
      self.focused = focused
    }

    var shield: PrivacyShield {
      PrivacyShield { () -> String? in
        self.events.append("covered")
        return self.focused
      } reveal: { focus in
        self.events.append("uncovered, \(focus ?? "nothing") focused")
      }
    }
  }

  @Test func `content is obscured once, while there is any reason`() {
    let window = Window(focused: "name")
    let shield = window.shield
    shield.insert(.inactive)
    shield.insert(.locked)
    shield.insert(.inactive)
    shield.remove(.inactive)
    #expect(shield.isObscured)
    #expect(window.events.all == ["covered"])
    shield.remove(.locked)
    shield.remove(.locked)
    #expect(!shield.isObscured)
    #expect(window.events.all == ["covered", "uncovered, name focused"])
  }

  @Test func `content is obscured from the start if there is a reason`() {
    let events = Recorder<String>()
    let shield = PrivacyShield(reasons: [.locked]) {
      events.append("covered")
    } reveal: {
      events.append("uncovered")
    }
    #expect(events.all == ["covered"])
    shield.remove(.locked)
    #expect(events.all == ["covered", "uncovered"])
  }

  @Test func `a second loss of the focus does not remember the cover as focused`() {
    let focus = Recorder<String>()
    let restored = Recorder<String?>()
    let shield = PrivacyShield { () -> String? in
      focus.append("asked")
      return focus.all.count == 1 ? "name" : "the cover"
    } reveal: {
      restored.append($0)
    }
    shield.handle(.willResignActive)
    shield.handle(.willResignActive)
    shield.handle(.didEnterBackground)
    shield.handle(.didBecomeActive)
    #expect(restored.all == ["name"])
  }

  @Test func `a shield follows a scene and its gate`() async throws {
    let window = Window(focused: "name")
    let shield = window.shield
    let test = TestGate { $0.requestsAutomatically = false }
    test.gate.connect("a", isActive: true, shield: shield) { _ in }
    #expect(shield.reasons == [.locked])
    try await test.open()
    #expect(shield.reasons.isEmpty)
    test.gate.handle(.willResignActive, in: "a")
    #expect(shield.reasons == [.inactive])
    test.gate.handle(.didEnterBackground, in: "a")
    #expect(shield.reasons == [.inactive, .locked])
    test.gate.handle(.didBecomeActive, in: "a")
    #expect(shield.reasons == [.locked])
    try await test.open()
    #expect(shield.reasons.isEmpty)
    #expect(window.events.all.count == 4)
  }

  @Test func `nothing is revealed between a lock and its scene's directive`() async throws {
    // The order in which scenes are told varies.
    for number in 0..<20 {
      let (speaker, other) = (SceneIdentifier("a\(number)"), SceneIdentifier("b\(number)"))
      let test = TestGate { $0.requestsAutomatically = false }
      let lockedReveals = Recorder<SceneIdentifier>()
      let shield = PrivacyShield {
      } reveal: { [gate = test.gate] in
        if gate.requiresAuthentication { lockedReveals.append(other) }
      }
      test.gate.connect(other, shield: shield) { _ in }
      try await test.open()
      test.gate.connect(speaker, isActive: true) { [weak gate = test.gate] directive in
        if case .locked = directive { gate?.handle(.didBecomeActive, in: other) }
      }
      test.gate.invalidate()
      // The directive may follow those that another thread is sending.
      try await waitUntil { shield.reasons == [.locked] }
      #expect(lockedReveals.all.isEmpty)
    }
  }

  @Test func `a scene that loses the focus while another is told stays obscured`() async throws {
    let test = TestGate { $0.requestsAutomatically = false }
    let shield = PrivacyShield {
    } reveal: {
    }
    test.gate.connect("b", shield: shield) { _ in }
    test.gate.connect("a", isActive: true) { [weak gate = test.gate] directive in
      guard case .authenticated = directive else { return }
      for event in [SceneEvent.didBecomeActive, .willResignActive] { gate?.handle(event, in: "b") }
    }
    try await test.open()
    #expect(shield.reasons == [.inactive])
  }

  @Test func `threads that insert and remove reasons leave the right state`() async {
    let events = Recorder<Bool>()
    let shield = PrivacyShield {
      events.append(true)
    } reveal: {
      events.append(false)
    }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let reason = PrivacyShield.Reason("\(number)")
          for _ in 0..<500 {
            shield.insert(reason)
            shield.remove(reason)
          }
        }
      }
    }
    #expect(!shield.isObscured)
    let all = events.all
    #expect(all.last == false)
    #expect(
      zip(all, all.dropFirst()).allSatisfy { $0 != $1 }, "covered or uncovered twice in a row")
  }

  @Test func `a login in flight outlives a thousand obscurings`() async throws {
    let window = Window(focused: "name")
    let shield = window.shield
    let test = TestGate { $0.requestsAutomatically = false }
    test.gate.connect("a", isActive: true, shield: shield) { _ in }
    try await test.open()
    // A login in the browser: it waits for a redirect, and nothing else ends it.
    let (redirects, redirect) = AsyncStream.makeStream(of: String.self)
    let login = Task {
      for await code in redirects { return code }
      throw CancellationError()
    }
    for _ in 0..<1000 {
      test.gate.handle(.willResignActive, in: "a")
      test.gate.handle(.didBecomeActive, in: "a")
    }
    test.gate.handle(.didEnterBackground, in: "a")
    #expect(test.gate.requiresAuthentication)
    redirect.yield("code")
    #expect(try await login.value == "code")
    #expect(!login.isCancelled)
    // Locked and opened, inactive a thousand times, and locked.
    #expect(window.events.all.count == 2003)
    // Its result waits until the gate opens.
    let result = Task { try await test.gate.whenAuthenticated { try await login.value } }
    test.gate.handle(.didBecomeActive, in: "a")
    try await test.open()
    #expect(try await result.value == "code")
  }
}
