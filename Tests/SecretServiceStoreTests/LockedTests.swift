import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// Found, absent and locked are three different results, however gnome-keyring was locked.
@Suite(.fewAtATime) struct LockedTests {
  /// How a collection was locked.
  enum Kind: String, CaseIterable {
    case lockedByOther, lockedSinceStart
  }

  private let (name, absent): (ItemName, ItemName)

  init() throws {
    name = try ItemName("item", in: "com.example.mail")
    absent = try ItemName("absent", in: "com.example.mail")
  }

  /// Starts a bus with a locked keyring that has one item with the value "value".
  private func lockedKeyring(
    _ kind: Kind, _ services: PrivateBus.Services = .none
  ) async throws -> (PrivateBus, GnomeKeyring) {
    let bus = try await PrivateBus(services)
    let keyring = try await GnomeKeyring(on: bus)
    try await bus.store().put(SecretBytes(utf8: "value"), for: name)
    switch kind {
    case .lockedByOther:
      try await OtherClient(on: bus).lock()
      return (bus, keyring)
    case .lockedSinceStart:
      keyring.kill()
      return (bus, try await GnomeKeyring(on: bus, .locked))
    }
  }

  @Test(arguments: Kind.allCases)
  func `a locked collection is never an absent item, and no question is asked`(
    _ kind: Kind
  ) async throws {
    let (bus, keyring) = try await lockedKeyring(kind)
    let prompter = try await SilentPrompter.start(on: bus)
    let store = bus.store()
    #expect(try await store.isLocked())
    for name in [name, absent] {
      #expect(await failure { try await store.value(for: name) } == StoreError.locked)
      #expect(
        await failure { try await store.put(SecretBytes(utf8: "other"), for: name) }
          == StoreError.locked)
      #expect(await failure { try await store.remove(name) } == StoreError.locked)
    }
    #expect(try await store.contains(name), "its presence can be read")
    #expect(await failure { try await store.contains(absent) } == StoreError.locked)
    for namespace in [nil, name.namespace, "another"] {
      #expect(await failure { try await store.names(in: namespace) } == StoreError.locked)
      #expect(await failure { try await store.items(in: namespace) } == StoreError.locked)
    }
    #expect(try await prompter.count() == 0)
    try await GnomeKeyring.signIn(on: bus)
    #expect(try await store.isLocked() == false)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    #expect(try await store.value(for: absent) == nil)
    #expect(try await store.names(in: nil) == [name])
    #expect(keyring.isRunning)
  }

  @Test func `a keyring without a password needs no question`() async throws {
    let bus = try await PrivateBus()
    try PlainKeyring.write([name: SecretBytes(utf8: "value")], on: bus)
    let keyring = try await GnomeKeyring(on: bus, .locked)
    let prompter = try await SilentPrompter.start(on: bus)
    let store = bus.store()
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    #expect(try await store.value(for: absent) == nil)
    #expect(try await prompter.count() == 0)
    #expect(keyring.isRunning)
  }

  @Test(arguments: Kind.allCases)
  func `a question that cannot be shown is dismissed`(_ kind: Kind) async throws {
    let (bus, keyring) = try await lockedKeyring(kind)
    let store = bus.store { $0.prompts = .ifNeeded }
    for call in reads.filter({ $0.name != "contains" }) + changes {
      #expect(
        await failure { try await call.run(store, name) } == StoreError.promptDismissed,
        "\(call.name)")
    }
    #expect(await failure { try await store.contains(absent) } == StoreError.promptDismissed)
    #expect(await failure { try await bus.store().unlock() } == StoreError.promptDismissed)
    #expect(keyring.isRunning)
    try await GnomeKeyring.signIn(on: bus)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
  }

  @Test func `a prompter that cannot start is dismissed`() async throws {
    // The prompter that is installed has no display.
    let (bus, keyring) = try await lockedKeyring(.lockedByOther, .standard)
    let store = bus.store { $0.prompts = .ifNeeded }
    #expect(
      await failure { try await store.value(for: name) } == StoreError.promptDismissed)
    #expect(keyring.isRunning)
  }

  @Test(arguments: Kind.allCases)
  func `a question that is not answered ends in time, and the keyring keeps running`(
    _ kind: Kind
  ) async throws {
    let (bus, keyring) = try await lockedKeyring(kind)
    let prompter = try await SilentPrompter.start(on: bus)
    let store = bus.store {
      $0.prompts = .ifNeeded
      $0.promptTimeout = .milliseconds(300)
    }
    for call in reads.filter({ $0.name != "contains" }) + changes {
      #expect(
        await failure { try await call.run(store, name) } == StoreError.timedOut, "\(call.name)")
    }
    #expect(await failure { try await store.unlock() } == StoreError.timedOut)
    #expect(try await prompter.count() > 0)
    #expect(keyring.isRunning)
    try await GnomeKeyring.signIn(on: bus)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    try await store.put(SecretBytes(utf8: "new"), for: name)
    #expect(keyring.isRunning)
  }

  @Test func `a cancelled task takes its question back`() async throws {
    let (bus, keyring) = try await lockedKeyring(.lockedByOther)
    let prompter = try await SilentPrompter.start(on: bus)
    let store = bus.store {
      $0.prompts = .ifNeeded
      $0.promptTimeout = .seconds(600)
      $0.timeout = .seconds(600)
    }
    for round in 0..<5 {
      let task = Task { [name] in try await store.value(for: name) }
      // The keyring asks the prompter one question at a time, and this prompter never answers.
      try await wait(until: "a question was asked in round \(round)") {
        try await prompter.count() > 0
      }
      #expect(try await store.isLocked())
      task.cancel()
      #expect(await failure { try await task.value } == StoreError.cancelled)
      #expect(try await store.isLocked(), "the keyring answers")
      #expect(keyring.isRunning)
    }
    try await GnomeKeyring.signIn(on: bus)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    #expect(keyring.isRunning)
  }

  @Test func `a keyring that ends during its question is an error at once`() async throws {
    let (bus, keyring) = try await lockedKeyring(.lockedByOther)
    let prompter = try await SilentPrompter.start(on: bus)
    let store = bus.store {
      $0.prompts = .ifNeeded
      $0.promptTimeout = .seconds(600)
    }
    let task = Task { [name] in try await store.value(for: name) }
    try await wait(until: "a question was asked") { try await prompter.count() > 0 }
    keyring.kill()
    #expect(await failure { try await task.value } == StoreError.unavailable)
  }
}
