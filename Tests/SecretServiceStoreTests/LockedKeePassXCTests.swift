import SessionToolsBusTestSupport
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// KeePassXC's two ways to withhold an item: a locked database, and an item that each program may
/// read only if the person allows it.
///
/// It asks in windows, which are answered only in two tests.
@Suite(.fewAtATime) struct LockedKeePassXCTests {
  private let (name, absent): (ItemName, ItemName)

  init() throws {
    name = try ItemName("item", in: "com.example.mail")
    absent = try ItemName("absent", in: "com.example.mail")
  }

  private func asking(_ bus: PrivateBus) -> SecretServiceStore {
    bus.store {
      $0.prompts = .ifNeeded
      $0.promptTimeout = .milliseconds(300)
    }
  }

  @Test func `a locked database is never an absent item`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await KeePassXC(on: bus, saves: true)
    let store = bus.store()
    try await keyring.saving { try await store.put(SecretBytes(utf8: "value"), for: name) }
    try await OtherClient(on: bus).lock()
    try await wait(until: "the database is locked") {
      do {
        return try await store.isLocked()
      } catch StoreError.unavailable {
        // Its collection goes and comes back.
        return false
      }
    }
    for name in [name, absent] {
      for call in reads + changes {
        #expect(
          await failure { try await call.run(store, name) } == StoreError.locked, "\(call.name)")
      }
      for call in reads + changes {
        let reported = await failure { try await call.run(asking(bus), name) }
        #expect(reported == StoreError.timedOut, "\(call.name)")
      }
    }
    #expect(keyring.isRunning)
  }

  @Test func `an item that is not allowed is locked, and so are lists that contain it`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await KeePassXC(on: bus, confirms: true)
    let maker = bus.store()
    try await maker.put(SecretBytes(utf8: "value"), for: name)
    #expect(try await maker.value(for: name) == SecretBytes(utf8: "value"), "the maker may read it")

    let store = bus.store()
    for call in reads.filter({ $0.name != "contains" }) {
      #expect(
        await failure { try await call.run(store, name) } == StoreError.locked, "\(call.name)")
      let reported = await failure { try await call.run(asking(bus), name) }
      #expect(reported == StoreError.timedOut, "\(call.name)")
    }
    #expect(await failure { try await changes[0].run(store, name) } == StoreError.locked)
    #expect(try await store.contains(name))
    #expect(try await store.value(for: absent) == nil)
    #expect(try await maker.value(for: name) == SecretBytes(utf8: "value"))
    #expect(keyring.isRunning)
  }

  @Test func `a person who allows an item is asked once`() async throws {
    let (bus, display) = (try await PrivateBus(), try Display())
    let keyring = try await KeePassXC(on: bus, confirms: true, display: display)
    try await bus.store().put(SecretBytes(utf8: "value"), for: name)

    let store = bus.store { $0.prompts = .ifNeeded }
    async let value = store.value(for: name)
    try await display.press("Return", inWindowNamed: "Access Request")
    #expect(try await value == SecretBytes(utf8: "value"))
    #expect(try await store.items(in: nil) == [name: SecretBytes(utf8: "value")])
    try await store.put(SecretBytes(utf8: "new"), for: name)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "new"))
    #expect(keyring.isRunning)
  }

  @Test func `an item that a person allows too late is there the next time`() async throws {
    let (bus, display) = (try await PrivateBus(), try Display())
    let keyring = try await KeePassXC(on: bus, confirms: true, display: display)
    try await bus.store().put(SecretBytes(utf8: "value"), for: name)

    let store = asking(bus)
    #expect(await failure { try await store.value(for: name) } == StoreError.timedOut)
    try await display.press("Return", inWindowNamed: "Access Request")
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    #expect(keyring.isRunning)
  }
}
