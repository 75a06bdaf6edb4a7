import SessionToolsBusTestSupport
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// Events that screen savers send.
@Suite struct ScreenSaverTests {
  let bus: PrivateBus

  init() async throws {
    bus = try await PrivateBus()
  }

  private func log() -> EventLog { EventLog(of: ScreenSaverSource(busAddress: bus.address)) }

  @Test(arguments: [MockScreenSaver.freedesktop, MockScreenSaver.gnome])
  func `a covered desktop is reported once`(name: String) async throws {
    let saver = try await MockScreenSaver(on: bus, name: name, isActive: true)
    let log = log()
    // This event also shows that the source listens.
    try await log.wait(for: .sessionLocked)
    for isActive in [true, false, false, true] { try await saver.say(isActive: isActive) }
    try await log.wait(for: .sessionLocked, .sessionUnlocked, .sessionLocked)
  }

  @Test func `two screen savers with the same state are reported once`() async throws {
    // GNOME's proxy for the first name cannot be asked.
    let proxy = try await MockScreenSaver(on: bus, isActive: nil)
    let gnome = try await MockScreenSaver(on: bus, name: MockScreenSaver.gnome, isActive: true)
    let log = log()
    try await log.wait(for: .sessionLocked)
    try await proxy.say(isActive: true)
    try await gnome.say(isActive: false)
    // According to the proxy the desktop is still covered.
    try await proxy.say(isActive: false)
    try await log.wait(for: .sessionLocked, .sessionUnlocked)
  }

  @Test func `a restarted screen saver is asked for its state`() async throws {
    var saver = try await MockScreenSaver(on: bus, isActive: true)
    let log = log()
    try await log.wait(for: .sessionLocked)
    saver.kill()
    saver = try await MockScreenSaver(on: bus, isActive: false)
    try await log.wait(for: .sessionLocked, .sessionUnlocked)
    try await saver.say(isActive: true)
    try await log.wait(for: .sessionLocked, .sessionUnlocked, .sessionLocked)
  }

  @Test func `a screen saver that ended while it was active does not hide a lock`() async throws {
    let lost = try await MockScreenSaver(on: bus, isActive: true)
    let gnome = try await MockScreenSaver(on: bus, name: MockScreenSaver.gnome, isActive: false)
    let log = log()
    try await log.wait(for: .sessionLocked)
    lost.kill()
    try await gnome.say(isActive: true)
    try await log.wait(for: .sessionLocked, .sessionLocked)
    try await gnome.say(isActive: false)
    try await log.wait(for: .sessionLocked, .sessionLocked, .sessionUnlocked)
  }

  @Test func `events are received again after a restart of the bus`() async throws {
    let first = try await MockScreenSaver(on: bus, isActive: true)
    let log = log()
    try await log.wait(for: .sessionLocked)
    try await bus.restart()
    let second = try await MockScreenSaver(on: bus, isActive: false)
    try await log.wait(for: .sessionLocked, .sessionUnlocked)
    try await second.say(isActive: true)
    try await log.wait(for: .sessionLocked, .sessionUnlocked, .sessionLocked)
    withExtendedLifetime(first) {}
  }

  @Test func `without a screen saver or a bus, listening fails at once`() async throws {
    for address in [bus.address, "unix:path=/nonexistent/bus"] {
      let log = EventLog(of: ScreenSaverSource(busAddress: address))
      try await wait(until: "it has failed") { log.outcome != nil }
      #expect(throws: AuthenticationError.self) { try log.outcome?.get() }
      if case .failure(let error) = log.outcome {
        #expect(error.code == .serviceLost)
      }
    }
  }

  @Test func `a cancelled source returns`() async throws {
    let saver = try await MockScreenSaver(on: bus, isActive: true)
    let log = log()
    try await log.wait(for: .sessionLocked)
    log.cancel()
    try await wait(until: "it has returned") {
      if case .success = log.outcome { true } else { false }
    }
    withExtendedLifetime(saver) {}
  }
}
