import SessionToolsBusTestSupport
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// What an app makes of the answers of a portal for secrets.
@Suite(.fewAtATime) struct PortalSecretTests {
  @Test func `a secret is read to its end, whatever the order of the portal's answers`()
    async throws
  {
    let bus = try await PrivateBus()
    let portal = try await MockPortal(on: bus)
    for fault in ["", "pieces", "early", "other-request"] {
      try await portal.set(fault)
      #expect(try await portal.secret() == MockPortal.secret, "\(fault)")
    }
    for byteCount in [16, 4096] {
      try await portal.set("length \(byteCount)")
      #expect(try await portal.secret().byteCount == byteCount)
    }
  }

  @Test func `a portal that gives no secret, or a useless one, is an error at once`() async throws {
    let bus = try await PrivateBus()
    let portal = try await MockPortal(on: bus)
    for (fault, code) in [
      ("response 1", StoreError.promptDismissed), ("response 2", StoreError.unavailable),
      ("response 77", StoreError.unavailable), ("refused-and-open", StoreError.unavailable),
      ("error", StoreError.unavailable), ("not-allowed", StoreError.accessDenied),
      ("length 0", StoreError.invalidKey),
      ("length 15", StoreError.invalidKey), ("length 4097", StoreError.invalidKey),
      ("endless", StoreError.invalidKey), ("die", StoreError.unavailable),
    ] {
      try await portal.set(fault)
      #expect(await failure { try await portal.secret() } == code, "\(fault)")
    }
  }

  @Test func `a portal that does not finish is waited for no longer than was asked`() async throws {
    let bus = try await PrivateBus()
    let portal = try await MockPortal(on: bus)
    for fault in ["open", "no-response", "no-answer"] {
      try await portal.set(fault)
      #expect(
        await failure { try await portal.secret(waiting: .milliseconds(300)) }
          == StoreError.timedOut, "\(fault)")
    }
  }

  @Test(arguments: ["open", "no-response", "no-answer"])
  func `waiting for the portal ends with the task`(fault: String) async throws {
    let bus = try await PrivateBus()
    let portal = try await MockPortal(on: bus, fault: fault)
    let task = Task { await failure { try await portal.secret() } }
    try await wait(until: "the portal was asked") { try await portal.count() == 1 }
    task.cancel()
    #expect(await task.value == StoreError.cancelled)
  }

  @Test func `a desktop without a portal for secrets is found out without asking for one`()
    async throws
  {
    let bus = try await PrivateBus()
    func secret(_ address: String) -> PortalSecret {
      PortalSecret(bus: SessionBus(address: address), timeout: patience)
    }
    let (absent, noBus) = (secret(bus.address), secret("unix:path=/nonexistent"))
    #expect(try await !absent.isProvided())
    #expect(await failure { try await absent.retrieve() } == StoreError.unavailable)
    #expect(try await !noBus.isProvided())
    #expect(await failure { try await noBus.retrieve() } == StoreError.unavailable)
    let portal = try await RealPortal(on: bus, hasSecrets: false)
    #expect(try await !absent.isProvided())
    #expect(await failure { try await absent.retrieve() } == StoreError.unavailable)
    withExtendedLifetime(portal) {}

    let other = try await PrivateBus()
    let mock = try await MockPortal(on: other)
    #expect(try await secret(other.address).isProvided())
    #expect(try await mock.count() == 0)
  }
}
