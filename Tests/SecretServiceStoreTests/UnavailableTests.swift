import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// Without a keyring every call fails, and no item is reported as absent.
@Suite(.fewAtATime) struct UnavailableTests {
  private let name: ItemName

  init() throws {
    name = try ItemName("item", in: "com.example.mail")
  }

  private func expectEveryCallFails(
    with code: StoreError.Code, _ store: SecretServiceStore,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    for call in reads + changes {
      let found = await failure { try await call.run(store, name) }
      #expect(found == code, "\(call.name)", sourceLocation: sourceLocation)
    }
    #expect(
      await failure { try await store.isLocked() } == code, sourceLocation: sourceLocation)
    #expect(await failure { try await store.unlock() } == code, sourceLocation: sourceLocation)
  }

  @Test func `without a bus`() async {
    let store = SecretServiceStore(
      collection: .default, options: SecretServiceStore.Options(),
      bus: SessionBus(address: "unix:path=/nonexistent/bus"))
    await expectEveryCallFails(with: StoreError.unavailable, store)
  }

  @Test func `without an environment that names a bus`() async {
    await #expect(processExitsWith: .success) {
      _ = unsafe unsetenv("DBUS_SESSION_BUS_ADDRESS")
      _ = unsafe setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
      let name = try ItemName("item", in: "service")
      let store = SecretServiceStore()
      let code = await failure { try await store.value(for: name) }
      precondition(code == StoreError.unavailable)
    }
  }

  @Test func `a bus that refuses is an error, and not the absence of a bus`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory["bus"]
    // Left by a bus that died: nothing listens there.
    try "".write(toFile: path, atomically: false, encoding: .utf8)
    let store = SecretServiceStore(
      collection: .default, options: SecretServiceStore.Options(),
      bus: SessionBus(address: "unix:path=\(path)"))
    await expectEveryCallFails(with: StoreError.unavailable, store)
    #expect(await failure { _ = try await store.availability() } == StoreError.unavailable)
    // Only root can make another user's file, and all others have root's.
    let owner = geteuid() == 0 ? 2001 : 0
    if owner != 0 {
      try FileManager.default.setAttributes([.ownerAccountID: owner], ofItemAtPath: path)
    }
    let theirs = SecretServiceStore(
      collection: .default, options: SecretServiceStore.Options(),
      bus: SessionBus(address: "unix:path=\(owner == 0 ? "/etc/passwd" : path)"))
    await expectEveryCallFails(with: StoreError.accessDenied, theirs)
    let error = await #expect(throws: StoreError.self) { try await theirs.availability() }
    #expect(error?.code == .accessDenied)
    #expect(error?.reason == "the session bus belongs to user \(owner)")
    let absent = SecretServiceStore(
      collection: .default, options: SecretServiceStore.Options(),
      bus: SessionBus(address: "unix:path=\(directory["none"])"))
    #expect(try await absent.availability() == .noBus)
  }

  @Test func `the environment names the bus`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    try await bus.store().put(SecretBytes(utf8: "value"), for: name)
    await #expect(processExitsWith: .success) { [address = bus.address as String] in
      let name = try ItemName("item", in: "com.example.mail")
      _ = unsafe setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
      let value = try await SecretServiceStore().value(for: name)
      precondition(value == SecretBytes(utf8: "value"))
    }
    withExtendedLifetime(keyring) {}
  }

  @Test func `a bus without a provider`() async throws {
    let bus = try await PrivateBus()
    await expectEveryCallFails(with: StoreError.unavailable, bus.store())
    withExtendedLifetime(bus) {}
  }

  @Test func `a bus that ends`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "value"), for: name)
    bus.kill()
    await expectEveryCallFails(with: StoreError.unavailable, store)
    withExtendedLifetime(keyring) {}
  }

  @Test func `a keyring without a collection`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus, .locked)
    #expect(try await OtherClient(on: bus).collection() == "/")
    await expectEveryCallFails(with: StoreError.unavailable, bus.store())
    await expectEveryCallFails(
      with: StoreError.unavailable, bus.store { $0.prompts = .ifNeeded })
    #expect(keyring.isRunning)
  }

  @Test func `a collection name that does not exist`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    await expectEveryCallFails(with: StoreError.unavailable, bus.store(.named("nonexistent")))
    await expectEveryCallFails(with: StoreError.unavailable, bus.store(.named("")))
    #expect(keyring.isRunning)
  }

  @Test func `an alias of a collection that is not there is no collection`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    try await provider.set("ReadAlias", "gone")
    let store = bus.store()
    #expect(try await store.availability() == .noCollection)
    for call in reads + changes where call.name != "remove" {
      let error = await #expect(throws: StoreError.self, "\(call.name)") {
        try await call.run(store, name)
      }
      #expect(error?.code == .unavailable)
      #expect(error?.reason == "the service has no default collection", "\(call.name)")
    }
  }

  @Test func `a provider's own message is quoted, without the newline at its end`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    try await provider.set("SearchItems", "error org.example.Odd")
    let error = await #expect(throws: StoreError.self) { try await bus.store().value(for: name) }
    #expect(error?.reason == "the service answered: 'no'")
  }

  @Test func `a provider that does not answer`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let store = bus.store { $0.timeout = .milliseconds(200) }
    let patient = bus.store()
    try await patient.put(SecretBytes(utf8: "value"), for: name)
    _ = try? await store.value(for: name)
    keyring.pause()
    await expectEveryCallFails(with: StoreError.timedOut, store)
    let task = Task { [name] in try await patient.value(for: name) }
    task.cancel()
    #expect(await failure { try await task.value } == StoreError.cancelled)
    keyring.goOn()
    #expect(try await patient.value(for: name) == SecretBytes(utf8: "value"))
  }
}

/// A store uses the collection that it was opened with.
@Suite(.fewAtATime) struct CollectionTests {
  @Test func `collections have aliases and labels`() async throws {
    let bus = try await PrivateBus()
    let name = try ItemName("item", in: "service")
    try PlainKeyring.write([name: SecretBytes(utf8: "plain")], label: "Work mail", on: bus)
    let keyring = try await GnomeKeyring(on: bus)
    let named = bus.store(.named("Work mail"))
    #expect(try await named.value(for: name) == SecretBytes(utf8: "plain"))
    let login = bus.store(.named("login"))
    #expect(try await login.value(for: name) == nil)
    try await login.put(SecretBytes(utf8: "login"), for: name)
    let session = bus.store(.named("session"))
    #expect(try await session.value(for: name) == nil)
    try await session.put(SecretBytes(utf8: "session"), for: name)
    #expect(try await named.value(for: name) == SecretBytes(utf8: "plain"))
    #expect(try await login.value(for: name) == SecretBytes(utf8: "login"))
    #expect(try await session.value(for: name) == SecretBytes(utf8: "session"))
    try await login.remove(name)
    #expect(try await session.contains(name))
    #expect(login.traits.isDurable && !session.traits.isDurable)
    #expect(keyring.isRunning)
  }
}
