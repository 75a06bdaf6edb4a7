#if GTKScenes
import SessionToolsBusTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The desktop's locks, seen by windows: logind and the screen saver are mocks on a real bus.
@Suite(.serialized, .onOwnThread) struct DesktopLockTests {
  @Test func `locks, sleep, another user and a screen saver cover the windows`() async throws {
    let bus = try await PrivateBus()
    let logind = try await MockLogind(on: bus)
    let saver = try await MockScreenSaver(on: bus, isActive: false)
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(
      on: desktop,
      environment: [
        "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "DBUS_SESSION_BUS_ADDRESS": bus.address,
      ])
    try await wait(until: "sleep is delayed") { try await logind.inhibitorCount() == 1 }
    try await worker.do("window red")
    let causes: [(name: String, begin: () async throws -> Void, end: () async throws -> Void)] = [
      ("lock", { try await logind.say(isLocked: true) }, { try await logind.say(isLocked: false) }),
      (
        "sleep", { try await logind.announce(sleep: true) },
        { try await logind.announce(sleep: false) }
      ),
      (
        "another user", { try await logind.set("Active", false) },
        { try await logind.set("Active", true) }
      ),
      (
        "idle", { try await logind.set("IdleHint", true) },
        { try await logind.set("IdleHint", false) }
      ),
      ("saver", { try await saver.say(isActive: true) }, { try await saver.say(isActive: false) }),
    ]
    for (name, begin, end) in causes {
      try await worker.do("ask red")
      try await worker.answerQuestion(in: "red", on: desktop)
      try await worker.waitUntilShown("red")
      try await begin()
      try await worker.waitUntilShown("-")
      try await end()
      // Only the person opens it again.
      #expect(try await worker.answer("look") == "-", "\(name)")
    }
  }
}
#endif
