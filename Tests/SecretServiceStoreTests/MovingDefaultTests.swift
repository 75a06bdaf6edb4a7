import SessionToolsBusTestSupport
import SessionToolsDBus
import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// The default collection is another one tomorrow, and a label changes when a database is locked:
/// neither makes an item absent.
@Suite(.fewAtATime) struct MovingDefaultTests {
  private static let root = "/org/freedesktop/secrets/collection"
  private let (itemName, absent): (ItemName, ItemName)

  init() throws {
    itemName = try ItemName("item", in: "com.example.mail")
    absent = try ItemName("absent", in: "com.example.mail")
  }

  /// Two open collections on a bus.
  private struct Two {
    let bus: PrivateBus
    let keyring: any RunningKeyring
    let client: OtherClient
    let (first, second): (String, String)

    /// Makes a collection the default one, as a person does by choosing another tab.
    func setDefault(_ collection: String) async throws {
      if keyring is KeePassXC {
        try await KeePassXC.show(
          String(collection.dropFirst(MovingDefaultTests.root.utf8.count + 1)), on: bus)
      } else {
        try await client.setDefault(collection)
      }
      try await wait(until: "it is the default") {
        try await client.collection() == collection
      }
    }
  }

  private func start(_ kind: Keyring) async throws -> Two {
    let bus = try await PrivateBus()
    let keyring: any RunningKeyring
    let (first, second): (String, String)
    if kind == .keePassXC {
      keyring = try await KeePassXC(on: bus, asksBeforeSearch: true, second: "home")
      (first, second) = ("secrets", "home")
    } else {
      try PlainKeyring.write([:], label: "Work mail", on: bus)
      keyring = try await GnomeKeyring(on: bus)
      (first, second) = ("login", "plain")
    }
    let client = try await OtherClient(on: bus)
    let two = Two(
      bus: bus, keyring: keyring, client: client, first: "\(Self.root)/\(first)",
      second: "\(Self.root)/\(second)")
    try await two.setDefault(two.first)
    return two
  }

  private func lock(_ collection: String, in two: Two) async throws {
    try await two.client.lock(collection)
    try await wait(until: "it is locked") {
      do {
        return try await two.client.isLocked(collection)
      } catch is DBusError {
        // The collection goes and comes back.
        return false
      }
    }
  }

  @Test(arguments: [Keyring.gnomeKeyring, .keePassXC])
  func `an item is found, replaced and removed where it is, whichever collection is the default`(
    _ kind: Keyring
  ) async throws {
    let two = try await start(kind)
    let store = two.bus.store()
    try await store.put(SecretBytes(utf8: "one"), for: itemName)
    try await two.setDefault(two.second)
    for store in [store, two.bus.store()] {
      #expect(try await store.value(for: itemName) == SecretBytes(utf8: "one"))
      #expect(try await store.contains(itemName))
      #expect(try await store.value(for: absent) == nil)
      #expect(try await store.names(in: nil) == [itemName])
    }
    try await store.put(SecretBytes(utf8: "two"), for: itemName)
    #expect(try await two.client.items().isEmpty, "no second item in the default collection")
    #expect(try await store.items(in: nil) == [itemName: SecretBytes(utf8: "two")])
    try await store.put(SecretBytes(utf8: "new"), for: absent)
    #expect(try await two.client.items().count == 1, "a new item is in the default collection")
    try await two.setDefault(two.first)
    #expect(try await store.names(in: nil) == [absent, itemName])
    for itemName in [itemName, absent] { try await store.remove(itemName) }
    #expect(try await store.names(in: nil).isEmpty)
    #expect(two.keyring.isRunning)
  }

  /// KeePassXC has none of a locked database's items; gnome-keyring knows their attributes.
  @Test func `what may be in a locked database is locked, and the error names it`() async throws {
    let two = try await start(.keePassXC)
    let store = two.bus.store()
    try await store.put(SecretBytes(utf8: "one"), for: itemName)
    try await two.setDefault(two.second)
    try await lock(two.first, in: two)
    for itemName in [itemName, absent] {
      for call in reads + changes {
        let error = await #expect(throws: StoreError.self, "\(call.name)") {
          try await call.run(store, itemName)
        }
        #expect(error?.code == .locked)
        #expect(error?.store == "secret service 'secrets'")
      }
    }
    #expect(try await store.availability() == .unlocked)
    // Nothing is open: a search would now wait for a password.
    try await lock(two.second, in: two)
    for call in reads + changes {
      #expect(
        await failure { try await call.run(store, itemName) } == StoreError.locked, "\(call.name)")
    }
    #expect(two.keyring.isRunning)
  }

  @Test func `an item in a locked keyring of gnome-keyring is locked, and others are absent`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let (client, other) = (try await OtherClient(on: bus), try ItemName("other", in: "news"))
    let login = try await client.collection()
    try await bus.store().put(SecretBytes(utf8: "value"), for: itemName)
    try await client.setDefault("\(Self.root)/session")
    try await client.lock(login)
    let store = bus.store()
    #expect(await failure { try await store.value(for: itemName) } == StoreError.locked)
    #expect(await failure { try await store.names(in: nil) } == StoreError.locked)
    #expect(await failure { try await store.remove(itemName) } == StoreError.locked)
    #expect(
      await failure { try await store.put(SecretBytes(utf8: "2"), for: itemName) }
        == StoreError.locked)
    #expect(try await store.contains(itemName))
    #expect(try await store.value(for: absent) == nil)
    #expect(try await store.names(in: other.namespace).isEmpty)
    try await store.put(SecretBytes(utf8: "news"), for: other)
    #expect(try await store.value(for: other) == SecretBytes(utf8: "news"))
    #expect(keyring.isRunning)
  }

  @Test func `a name that no open database has is locked, and not missing`() async throws {
    let two = try await start(.keePassXC)
    let named = two.bus.store(.named("secrets"))
    try await named.put(SecretBytes(utf8: "value"), for: itemName)
    let unknown = two.bus.store(.named("Work secrets"))
    #expect(await failure { try await unknown.value(for: absent) } == StoreError.unavailable)
    let error = await #expect(throws: StoreError.self) { try await unknown.names(in: nil) }
    #expect(error?.reason == "the service has no collection 'Work secrets', only 'home', 'secrets'")
    try await lock(two.first, in: two)
    for store in [named, unknown] {
      #expect(await failure { try await store.value(for: absent) } == StoreError.locked)
      #expect(await failure { try await store.names(in: nil) } == StoreError.locked)
      #expect(try await store.availability() == .locked)
    }
    try await KeePassXC.show("secrets", on: two.bus)
    #expect(try await named.value(for: itemName) == SecretBytes(utf8: "value"))
    // Last, because the question stays on the screen, and KeePassXC 2.7.10 opens nothing meanwhile.
    try await lock(two.first, in: two)
    let asking = two.bus.store(.named("Work secrets")) {
      $0.prompts = .ifNeeded
      $0.promptTimeout = .milliseconds(300)
    }
    #expect(await failure { try await asking.value(for: itemName) } == StoreError.timedOut)
    #expect(await failure { try await asking.unlock() } == StoreError.timedOut)
    #expect(two.keyring.isRunning)
  }

  @Test func `a slot remembers its collection by what does not change`() async throws {
    let two = try await start(.gnomeKeyring)
    let named = SecretServiceKey(
      "vault", isMadeIfAbsent: true, store: two.bus.store(.named("Work mail")))
    let path = two.bus["vault"]
    _ = try await onThread { try SealedFileStore.create(at: path, key: named) }
    #expect(
      try SealedFileStore.keySlots(at: path).map(\.parameters)
        == [.namedKey(reference: "secret-service:plain/vault")])
    for name in ["Work mail", "plain"] {
      let again = SecretServiceKey(
        "vault", isMadeIfAbsent: false, store: two.bus.store(.named(name)))
      _ = try await onThread { try SealedFileStore.open(at: path, key: again) }
    }
    #expect(two.keyring.isRunning)
  }

  @Test func `a missing key names the program and the collections`() async throws {
    let two = try await start(.gnomeKeyring)
    for (name, reason) in [
      (nil, "gnome-keyring has no such key in its collections 'Login', 'Work mail'"),
      ("plain", "gnome-keyring has no such key in its collection 'Work mail'; it also has 'Login'"),
    ] {
      let itemName = SecretServiceKey(
        "vault", isMadeIfAbsent: false,
        store: two.bus.store(name.map { .named($0) } ?? .default))
      let error = await #expect(throws: StoreError.self) {
        try await onThread { try itemName.makeSlot() }
      }
      #expect(error?.code == .keyMissing)
      #expect(error?.reason == reason)
      #expect(error?.remedy?.contains("backup") == false)
    }
    #expect(two.keyring.isRunning)
  }
}
