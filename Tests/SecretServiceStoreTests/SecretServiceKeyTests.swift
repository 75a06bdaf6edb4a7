import SessionToolsBusTestSupport
import Foundation
import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import SessionToolsTestSupport
import Testing

@Suite(.fewAtATime) struct SecretServiceKeyTests {
  @Test(arguments: [
    "vault", "a/b", "100 %", " space ", "über/⚿\u{202E}", "line\nbreak", "secret-service:x", "%2f",
  ])
  func `a reference names the same key again`(name: String) throws {
    for collection in [SecretServiceStore.Collection.default, .named("login"), .named("a/b %")] {
      let key = SecretServiceKey(name, in: collection)
      let again = try #require(SecretServiceKey(reference: key.reference))
      #expect(again.name.utf8.elementsEqual(name.utf8))
      #expect(again.collection == collection)
      #expect(again.reference == key.reference)
    }
  }

  @Test(arguments: [
    "", "vault", "secret-service", "secret-service:", "secret-service:/", "secret-service:a/",
    "secret-service:/a", "secret-service:a/b/c", "secret-service:%", "secret-service:%2",
    "secret-service:%41", "secret-service:a%0", "Secret-Service:a", "file:a",
  ])
  func `an invalid reference names no key`(text: String) {
    #expect(SecretServiceKey(reference: text) == nil)
  }

  @Test func `a store opens with the key that its slot names`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    defer { withExtendedLifetime(keyring) {} }
    let key = SecretServiceKey("vault", isMadeIfAbsent: true, store: bus.store())
    _ = try await onThread { try SealedFileStore.create(at: bus["vault"], key: key) }
    #expect(
      try SealedFileStore.keySlots(at: bus["vault"]).map(\.parameters)
        == [.namedKey(reference: "secret-service:vault")])
    let again = SecretServiceKey("vault", isMadeIfAbsent: false, store: bus.store())
    _ = try await onThread { try SealedFileStore.open(at: bus["vault"], key: again) }
    let other = SecretServiceKey("other", isMadeIfAbsent: true, store: bus.store())
    await #expect(throws: StoreError.self) {
      try await onThread { try SealedFileStore.open(at: bus["vault"], key: other) }
    }
    #expect(try await bus.store().names(in: nil).map(\.identifier) == ["vault"])
  }

  @Test func `a key is created only if the caller asks for it, and never in a locked keyring`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    defer { withExtendedLifetime(keyring) {} }
    let cautious = SecretServiceKey("vault", isMadeIfAbsent: false, store: bus.store())
    #expect(
      await failure { try await onThread { try cautious.makeSlot() } } == StoreError.keyMissing)
    #expect(
      await failure {
        try await onThread { try SealedFileStore.create(at: bus["vault"], key: cautious) }
      }
        == StoreError.keyMissing)
    #expect(!FileManager.default.fileExists(atPath: bus["vault"]))
    try await OtherClient(on: bus).lock()
    let making = SecretServiceKey("vault", isMadeIfAbsent: true, store: bus.store())
    #expect(await failure { try await onThread { try making.makeSlot() } } == StoreError.locked)
    #expect(await failure { try await onThread { try cautious.makeSlot() } } == StoreError.locked)
  }

  @Test func `all that create a key at the same time get the same key`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    defer { withExtendedLifetime(keyring) {} }
    _ = try await onThread {
      let first = SecretServiceKey("first", isMadeIfAbsent: true, store: bus.store())
      return try SealedFileStore.create(at: bus["vault"], key: first)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<6 {
        group.addTask {
          let key = SecretServiceKey("shared", isMadeIfAbsent: true, store: bus.store())
          _ = try await onThread { try key.makeSlot() }
        }
      }
      try await group.waitForAll()
    }
    let items = try await bus.store().items(in: "org.session-tools.keys")
    #expect(items.keys.map(\.identifier).sorted() == ["first", "shared"])
  }
}
