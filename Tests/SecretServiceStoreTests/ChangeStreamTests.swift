import SessionToolsBusTestSupport
import SessionToolsDBus
import SecretServiceStore
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import Testing

/// The events of a stream so far.
private final class Reported: Sendable {
  private let events = Mutex<[StoreEvent]>([])
  private let ended = Mutex(false)

  init(_ stream: AsyncStream<StoreEvent>) {
    Task {
      for await event in stream { events.withLock { $0.append(event) } }
      ended.withLock { $0 = true }
    }
  }

  var isEnded: Bool { ended.withLock { $0 } }

  /// Returns the events since the last call.
  func take() -> [StoreEvent] {
    events.withLock { events in
      defer { events = [] }
      return events
    }
  }

  /// Waits for an event, and drops the events that came before it.
  func wait(for event: StoreEvent) async throws {
    try await SessionToolsTestSupport.wait(until: "\(event)") { take().contains(event) }
  }
}

@Suite(.fewAtATime) struct ChangeStreamTests {
  private let (name, other): (ItemName, ItemName)

  init() throws {
    name = try ItemName("item", in: "service")
    other = try ItemName("other", in: "service")
  }

  /// Returns a store with one item, and the events of its stream.
  private func reported(on bus: PrivateBus) async throws -> (store: SecretServiceStore, Reported) {
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "1"), for: name)
    let reported = Reported(store.changes())
    try await reported.wait(for: .resynchronize)
    return (store, reported)
  }

  @Test(arguments: Keyring.allCases)
  func `changes are reported, whichever store makes them`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    let (store, other) = (service.bus.store(), service.bus.store())
    let reported = Reported(store.changes())
    try await reported.wait(for: .resynchronize)
    try await store.put(SecretBytes(utf8: "1"), for: name)
    try await reported.wait(for: .changed([name]))
    try await other.put(SecretBytes(utf8: "2"), for: name)
    try await reported.wait(for: .changed([name]))
    try await other.remove(name)
    try await reported.wait(for: .changed([name]))
    #expect(!reported.isEnded)
  }

  @Test func `an item that is removed before the provider is asked about it has its name`()
    async throws
  {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let (store, reported) = try await reported(on: bus)
    try await store.put(SecretBytes(utf8: "2"), for: name)
    try await reported.wait(for: .changed([name]))
    try await provider.set("Attributes", "error org.freedesktop.DBus.Error.UnknownObject")
    try await store.put(SecretBytes(utf8: "3"), for: name)
    try await store.remove(name)
    try await reported.wait(for: .changed([name]))
  }

  /// As KWallet may report it when it is busy.
  @Test func `the end of an item that was reported before it had attributes is reported`()
    async throws
  {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let (store, reported) = try await reported(on: bus)
    try await provider.set("Attributes", "bare")
    try await store.put(SecretBytes(utf8: "1"), for: other)
    try await reported.wait(for: .resynchronize)
    try await store.remove(other)
    try await reported.wait(for: .resynchronize)
  }

  @Test func `a change by another program to an item is reported, and to its own item is not`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let (store, reported) = try await reported(on: bus)
    try await bus.secretTool("store", "--label=l", "a", "b", input: "theirs")
    let client = try await OtherClient(on: bus)
    let items = try await client.items()
    for item in items where try await client.attributes(of: item)["session-tools:id"] != nil {
      try await client.call(item, "Item", "Delete")
    }
    // The name of an item that was never seen is not known.
    try await wait(until: "a deletion is reported") {
      let events = reported.take()
      #expect(!events.contains { if case .changed = $0 { true } else { false } })
      return events.contains(.resynchronize)
    }
    #expect(keyring.isRunning)
    withExtendedLifetime(store) {}
  }

  @Test func `an item overwritten by another program is reported, and has no value`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let (store, reported) = try await reported(on: bus)
    let client = try await OtherClient(on: bus)
    let attributes = try await client.attributes(of: client.items()[0])
    try await Program.run(
      "/usr/bin/secret-tool", ["store", "--label=l"] + attributes.flatMap { [$0.key, $0.value] },
      input: "theirs", environment: bus.environment)
    try await reported.wait(for: .changed([name]))
    #expect(await failure { try await store.value(for: name) } == StoreError.corrupt)
    try await store.put(SecretBytes(utf8: "2"), for: name)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "2"))
    withExtendedLifetime(keyring) {}
  }

  @Test func `locking, unlocking and restarting are reported`() async throws {
    let bus = try await PrivateBus()
    var keyring = try await GnomeKeyring(on: bus)
    let (store, reported) = try await reported(on: bus)
    try await OtherClient(on: bus).lock()
    try await reported.wait(for: .resynchronize)
    try await GnomeKeyring.signIn(on: bus)
    try await reported.wait(for: .resynchronize)
    keyring.kill()
    try await reported.wait(for: .resynchronize)
    keyring = try await GnomeKeyring(on: bus)
    try await reported.wait(for: .resynchronize)
    try await bus.store().put(SecretBytes(utf8: "2"), for: name)
    try await reported.wait(for: .changed([name]))
    withExtendedLifetime(store) {}
  }

  @Test func `closing and opening a wallet is reported, and each deletion once`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await KWallet(on: bus)
    let (store, reported) = try await reported(on: bus)
    try await store.put(SecretBytes(utf8: "2"), for: name)
    try await reported.wait(for: .changed([name]))
    try await keyring.lock()
    try await reported.wait(for: .resynchronize)
    try await keyring.signIn()
    try await store.unlock()
    try await reported.wait(for: .resynchronize)
    try await store.put(SecretBytes(utf8: "3"), for: name)
    try await reported.wait(for: .changed([name]))
    try await store.remove(name)
    try await store.put(SecretBytes(utf8: "4"), for: other)
    var events: [StoreEvent] = []
    try await wait(until: "the last change is reported") {
      events += reported.take()
      return events.contains(.changed([other]))
    }
    #expect(events.contains(.changed([name])))
    // KWallet 6 says a second time that it was opened, and perhaps late.
    #expect(events.count { $0 == .resynchronize } <= 1)
    #expect(keyring.isRunning)
  }

  @Test func `a provider that starts later is waited for`() async throws {
    let bus = try await PrivateBus()
    let store = bus.store()
    let reported = Reported(store.changes())
    try await reported.wait(for: .resynchronize)
    let keyring = try await GnomeKeyring(on: bus)
    try await reported.wait(for: .resynchronize)
    try await bus.store().put(SecretBytes(utf8: "1"), for: name)
    try await reported.wait(for: .changed([name]))
    withExtendedLifetime((store, keyring)) {}
  }

  @Test func `a stream ends with its store`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    weak var weakStore: SecretServiceStore?
    var reported: [Reported] = []
    do {
      let store = bus.store()
      weakStore = store
      reported = [Reported(store.changes()), Reported(store.changes())]
      // Not for the second: it may have begun when the first was already listening, and then it
      // missed nothing.
      try await reported[0].wait(for: .resynchronize)
      try await store.put(SecretBytes(utf8: "1"), for: name)
      for one in reported { try await one.wait(for: .changed([name])) }
    }
    try await wait(until: "the streams ended") { reported.allSatisfy(\.isEnded) }
    #expect(weakStore == nil)
    #expect(keyring.isRunning)
  }

  @Test func `a stream without a bus ends with its store`() async throws {
    var reported: Reported?
    do {
      let store = SecretServiceStore(
        collection: .default, options: SecretServiceStore.Options(),
        bus: SessionBus(address: "unix:path=/nonexistent/bus"))
      reported = Reported(store.changes())
    }
    try await wait(until: "the stream ended") { reported?.isEnded == true }
  }
}
