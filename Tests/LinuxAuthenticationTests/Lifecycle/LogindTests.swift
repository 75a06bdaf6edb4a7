import SessionToolsBusTestSupport
import SessionToolsDBus
import LinuxAuthentication
import SessionAuthentication
import Synchronization
import SessionToolsTestSupport
import Testing

/// Events that logind sends about the session and sleep.
@Suite struct LogindTests {
  let bus: PrivateBus

  init() async throws {
    bus = try await PrivateBus()
  }

  /// Starts to listen, and returns when the source is ready.
  private func log(
    _ logind: MockLogind, countsIdleness: Bool = false,
    _ receive: @escaping @Sendable (SystemEvent) -> Void = { _ in }
  ) async throws -> EventLog {
    let source = LogindSource(
      program: "test", countsIdleness: countsIdleness, busAddress: bus.address)
    let log = EventLog(of: source, receive)
    // Delaying sleep is the last step before it reads what is the case.
    try await wait(until: "sleep is delayed") { try await logind.inhibitorCount() == 1 }
    return log
  }

  @Test(arguments: [MockLogind.Membership.byProcess, .byDisplay])
  func `a lock is reported when requested and when done, but not for another session`(
    membership: MockLogind.Membership
  ) async throws {
    let logind = try await MockLogind(on: bus, membership)
    let log = try await log(logind)
    try await logind.lockOther()
    try await logind.request(isLock: true)
    // The source has then read what was the case.
    try await log.wait(for: .sessionLocked)
    try await logind.say(isLocked: true)
    try await logind.request(isLock: true)
    try await logind.request(isLock: false)
    try await logind.say(isLocked: false)
    try await logind.request(isLock: false)
    try await logind.announce(sleep: true)
    // The person may have unlocked the program between the request and the lock.
    try await log.wait(for: .sessionLocked, .sessionLocked, .sessionUnlocked, .willSleep)
  }

  @Test func `a desktop that sets no hint is locked and unlocked by requests`() async throws {
    let logind = try await MockLogind(on: bus)
    let log = try await log(logind)
    try await logind.request(isLock: true)
    try await logind.request(isLock: false)
    try await logind.request(isLock: false)
    try await logind.announce(sleep: true)
    try await log.wait(for: .sessionLocked, .sessionUnlocked, .willSleep)
  }

  @Test func `a desktop that locks without a request is locked`() async throws {
    let logind = try await MockLogind(on: bus)
    let log = try await log(logind)
    try await logind.say(isLocked: true)
    try await logind.say(isLocked: false)
    try await log.wait(for: .sessionLocked, .sessionUnlocked)
  }

  @Test func `a second request to lock counts if the first was not carried out`() async throws {
    // The person may have unlocked the program in between, so that it must lock again.
    let logind = try await MockLogind(on: bus)
    let log = try await log(logind)
    try await logind.request(isLock: true)
    try await logind.request(isLock: true)
    try await log.wait(for: .sessionLocked, .sessionLocked)
  }

  @Test func `another user in front counts as a lock, and idleness where it is wanted`()
    async throws
  {
    let logind = try await MockLogind(on: bus)
    let log = try await log(logind, countsIdleness: true)
    let other = EventLog(of: LogindSource(program: "other", busAddress: bus.address))
    try await wait(until: "both listen") { try await logind.inhibitorCount() == 2 }
    try await logind.set("Active", false)
    try await logind.set("IdleHint", true)
    try await logind.set("Active", true)
    try await logind.request(isLock: false)
    try await logind.announce(sleep: true)
    try await log.wait(for: .sessionLocked, .willSleep)
    try await logind.set("IdleHint", false)
    try await log.wait(for: .sessionLocked, .willSleep, .sessionUnlocked)
    try await other.wait(for: .sessionLocked, .sessionUnlocked, .willSleep)
    // The end of an absence does not unlock the desktop.
    try await logind.say(isLocked: true)
    try await logind.set("Active", false)
    try await logind.set("Active", true)
    try await logind.say(isLocked: false)
    try await log.wait(
      for: .sessionLocked, .willSleep, .sessionUnlocked, .sessionLocked, .sessionLocked,
      .sessionUnlocked)
  }

  @Test func `a desktop that is already locked when listening begins is reported`() async throws {
    let logind = try await MockLogind(on: bus)
    try await logind.say(isLocked: true)
    let log = try await log(logind)
    try await log.wait(for: .sessionLocked)
    try await logind.say(isLocked: false)
    try await log.wait(for: .sessionLocked, .sessionUnlocked)
  }

  @Test(arguments: [("Active", false), ("IdleHint", true)])
  func `an absence that began before listening is reported`(
    property: String, value: Bool
  ) async throws {
    let logind = try await MockLogind(on: bus)
    try await logind.set(property, value)
    let log = try await log(logind, countsIdleness: true)
    try await log.wait(for: .sessionLocked)
    try await logind.set(property, !value)
    try await log.wait(for: .sessionLocked, .sessionUnlocked)
  }

  @Test func `idleness that began before listening counts only where it is wanted`() async throws {
    let logind = try await MockLogind(on: bus)
    try await logind.set("IdleHint", true)
    let log = try await log(logind)
    try await logind.announce(sleep: true)
    try await log.wait(for: .willSleep)
  }

  @Test func `a program outside of any session receives sleep events`() async throws {
    let logind = try await MockLogind(on: bus, .none)
    let log = try await log(logind)
    try await logind.request(isLock: true)
    try await logind.announce(sleep: true)
    try await log.wait(for: .willSleep)
  }

  @Test func `sleep waits until the receiver has returned, and is delayed again after waking`()
    async throws
  {
    let logind = try await MockLogind(on: bus)
    let counts = Mutex<[Int?]>([])
    let log = try await log(logind) { [address = bus.address] _ in
      let count = try? MockLogind.blockingInhibitorCount(at: address)
      counts.withLock { $0.append(count) }
    }
    for round in 1...2 {
      try await logind.announce(sleep: true)
      try await wait(until: "nothing delays sleep") {
        let count = try await logind.inhibitorCount()
        return log.events.count == 2 * round - 1 && count == 0
      }
      // A repeated announcement is not reported again.
      try await logind.announce(sleep: true)
      try await logind.announce(sleep: false)
      try await wait(until: "sleep is delayed again") {
        let count = try await logind.inhibitorCount()
        return log.events.count == 2 * round && count == 1
      }
    }
    try await log.wait(for: .willSleep, .didWake, .willSleep, .didWake)
    // Nothing delays sleep again until the receiver has returned from `didWake`.
    #expect(counts.withLock { $0 } == [1, 0, 1, 0])
  }

  @Test func `after a restart of logind, events are received and sleep is delayed again`()
    async throws
  {
    var logind = try await MockLogind(on: bus)
    let log = try await log(logind)
    try await logind.request(isLock: true)
    try await log.wait(for: .sessionLocked)
    logind.kill()
    logind = try await MockLogind(on: bus)
    try await wait(until: "sleep is delayed") { try await logind.inhibitorCount() == 1 }
    try await logind.request(isLock: false)
    try await log.wait(for: .sessionLocked, .sessionUnlocked)
    try await logind.announce(sleep: true)
    try await log.wait(for: .sessionLocked, .sessionUnlocked, .willSleep)
    try await logind.announce(sleep: false)
    try await log.wait(for: .sessionLocked, .sessionUnlocked, .willSleep, .didWake)
  }

  @Test func `after a restart of the bus, events are received and sleep is delayed again`()
    async throws
  {
    var logind = try await MockLogind(on: bus)
    let log = try await log(logind)
    try await bus.restart()
    logind = try await MockLogind(on: bus)
    try await wait(until: "sleep is delayed") { try await logind.inhibitorCount() == 1 }
    try await logind.request(isLock: true)
    try await logind.announce(sleep: true)
    try await log.wait(for: .sessionLocked, .willSleep)
  }

  @Test func `a cancelled source no longer listens or delays sleep`() async throws {
    let logind = try await MockLogind(on: bus)
    let log = try await log(logind)
    log.cancel()
    try await wait(until: "it has returned") {
      if case .success = log.outcome { true } else { false }
    }
    try await wait(until: "nothing delays sleep") { try await logind.inhibitorCount() == 0 }
    #expect(log.events == [])
  }

  @Test func `without logind or a bus, listening fails at once`() async throws {
    for address in [bus.address, "unix:path=/nonexistent/bus"] {
      let log = EventLog(of: LogindSource(busAddress: address))
      try await wait(until: "it has failed") { log.outcome != nil }
      #expect(throws: AuthenticationError.self) { try log.outcome?.get() }
      if case .failure(let error) = log.outcome {
        #expect(error.code == .serviceLost)
      }
    }
  }

  @Test func `the real logind lists which program delays sleep, and why`() async throws {
    // systemd makes these before it starts logind.
    let machine = try await PrivateMachine(
      preparation: "mkdir -p /run/systemd/inhibit /run/systemd/seats /run/systemd/sessions")
    let logind = try await machine.start(
      "/lib/systemd/systemd-logind", name: MockLogind.service)
    let log = EventLog(
      of: LogindSource(program: "test", reason: "to try it", busAddress: machine.address))
    let connection = try await DBusConnection.open(address: machine.address, timeout: patience)
    let method = DBusMethod(
      MockLogind.service, "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
      "ListInhibitors")
    let inhibitors = { () async throws -> [[String?]] in
      try await connection.call(method, timeout: patience).children.first?.children.map {
        $0.children.prefix(4).map(\.text)
      } ?? []
    }
    try await wait(until: "sleep is delayed") {
      try await inhibitors() == [["sleep", "test", "to try it", "delay"]]
    }
    log.cancel()
    try await wait(until: "nothing delays sleep") { try await inhibitors() == [] }
    withExtendedLifetime(logind) {}
  }
}
