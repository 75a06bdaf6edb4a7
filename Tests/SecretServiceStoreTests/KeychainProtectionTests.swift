import SessionToolsBusTestSupport
import Foundation
import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import Testing

private struct User: Codable, Equatable, Sendable {
  var name: String
}

/// In processes of their own, because the environment determines the keychain and the bus.
@Suite(.fewAtATime) struct KeychainProtectionTests {
  @Test func `with a keyring a new keychain's key is stored there`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .unlocked) { home in
        let container = container()
        #expect(try container.protection().description.contains("not made yet"))
        try container.storeItem(User(name: "Ada"), forIdentifier: "user")
        #expect(
          try container.protection().description
            .contains("secret-service:login/com.example.mail "))
        #expect(try slots(of: home).map(\.isServiceKey) == [true])
        #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools/keys"))
        #expect(try item() == User(name: "Ada"))
      }
    }
  }

  @Test func `without a keyring the key is in a key file, and stays there`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .none) { home in
        try container().storeItem(User(name: "Ada"), forIdentifier: "user")
        let before = try slots(of: home)
        #expect(before.map(\.isServiceKey) == [false])
        let bus = try await PrivateBus()
        let keyring = try await GnomeKeyring(on: bus)
        use(bus)
        #expect(try item() == User(name: "Ada"))
        try container(.secretService).storeItem(User(name: "Bob"), forIdentifier: "user")
        #expect(try slots(of: home) == before)
        withExtendedLifetime(keyring) {}
      }
    }
  }

  /// As with the socket that a bus left when it died, or one of another user.
  @Test func `with a bus that refuses nothing is chosen or created`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .none) { home in
        try "".write(toFile: "\(home)/dead", atomically: false, encoding: .utf8)
        unsafe setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=\(home)/dead", 1)
        let failed = code { try container().storeItem(User(name: "Ada"), forIdentifier: "user") }
        #expect(failed == .unavailable)
        #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools/com.example.mail"))
        #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools/keys"))
      }
    }
  }

  @Test func `with a locked keyring nothing is chosen or created`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .locked) { home in
        let failed = code { try container().storeItem(User(name: "Ada"), forIdentifier: "user") }
        #expect(failed == .locked)
        #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools/com.example.mail"))
        #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools/keys"))
      }
    }
  }

  @Test func `with a keyring that cannot store the key nothing is chosen or created`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .none) { home in
        let bus = try await PrivateBus()
        let provider = try await FaultyProvider.start(on: bus)
        use(bus)
        for (method, fault) in [
          ("CreateItem", "error org.freedesktop.DBus.Error.Failed"), ("SearchItems", "number"),
          ("Locked", "text"), ("CreateItem", "die"),
        ] {
          try await provider.set(method, fault)
          let failed = code { try container().storeItem(User(name: "Ada"), forIdentifier: "user") }
          #expect(failed != nil, "\(method) \(fault)")
          #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools/keys"))
          #expect(
            !FileManager.default.fileExists(atPath: "\(home)/session-tools/com.example.mail"))
          if fault != "die" { try await provider.set(method, "") }
        }
      }
    }
  }

  @Test func `a keyring that was asked for and is missing is an error`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .none) { home in
        for protection in [KeychainProtection.secretService, .secretServiceItems] {
          let failed = code {
            try container(protection).storeItem(User(name: "Ada"), forIdentifier: "user")
          }
          #expect(failed == .unavailable)
        }
        #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools/com.example.mail"))
      }
    }
  }

  @Test func `a keychain whose key is out of reach is unavailable and never recreated`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .unlocked) { home in
        try container().storeItem(User(name: "Ada"), forIdentifier: "user")
        let before = try slots(of: home)
        let reference = try #require(before.first?.reference)

        let key = try #require(SecretServiceKey(reference: reference))
        try key.remove()
        #expect(code { try item() } == .keyMissing)
        let failed = code { try container().storeItem(User(name: "Bob"), forIdentifier: "user") }
        #expect(failed == .keyMissing)

        unsafe setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent", 1)
        #expect(code { try item() } == .unavailable)
        let session = Session<User>(container: container(), storageIdentifier: "user")
        guard case .unavailable = session.state else {
          Issue.record("\(session.state)")
          return
        }
        #expect(try slots(of: home) == before)
      }
    }
  }

  @Test func `a keychain that could not be created leaves no key in the keyring`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .unlocked) { home in
        try FileManager.default.createDirectory(
          atPath: "\(home)/session-tools/com.example.mail", withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o755])
        #expect(
          code { try container().storeItem(User(name: "Ada"), forIdentifier: "user") }
            == .unsafePermissions)
        #expect(try await SecretServiceStore().names(in: nil) == [])
      }
    }
  }

  @Test func `a passphrase is asked for once to make a keychain and once to open it`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .none) { _ in
        let questions = Questions()
        let protection = KeychainProtection.passphrase {
          questions.add()
          return SecretBytes(utf8: "correct horse")
        }
        let first = container(protection)
        try first.storeItem(User(name: "Ada"), forIdentifier: "user")
        #expect(try first.item(forIdentifier: "user") == User(name: "Ada"))
        #expect(questions.count == 1)
        let second = container(protection)
        #expect(try second.item(forIdentifier: "user") == User(name: "Ada"))
        #expect(try second.containsItem(forIdentifier: "other") == false)
        #expect(questions.count == 2)
        #expect(try second.protection().atRest == .passphrase)

        #expect(code { try item() } == .keyMissing)
        let wrong = container(.passphrase { SecretBytes(utf8: "wrong") })
        #expect(code { try wrong.item(forIdentifier: "user") } == .wrongKey)
        let dismissed = container(.passphrase { throw CancellationError() })
        #expect(code { try dismissed.item(forIdentifier: "user") } == .promptDismissed)
      }
    }
  }

  @Test func `items in the service itself are kept apart by installation`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .unlocked) { home in
        let old = container(.secretServiceItems, install: "old")
        let new = container(.secretServiceItems, install: "new")
        try old.storeItem(User(name: "Ada"), forIdentifier: "user")
        #expect(try old.item(forIdentifier: "user") == User(name: "Ada"))
        #expect(try new.item(forIdentifier: "user") == nil)
        #expect(!FileManager.default.fileExists(atPath: "\(home)/session-tools"))
        try await installsAreKeptApart(old, new)
      }
    }
  }

  @Test func `items of another installation are invisible, listed, adopted and purged`() async {
    await #expect(processExitsWith: .success) {
      try await onBus(keyring: .unlocked) { _ in
        let old = container(install: "old")
        let new = container(install: "new")
        try old.storeItem(User(name: "Ada"), forIdentifier: "user")
        #expect(try new.item(forIdentifier: "user") == nil)
        try await installsAreKeptApart(old, new)
      }
    }
  }

  @Test func `configurations are equal when they name the same items`() {
    func config(_ protection: KeychainProtection) -> KeychainContainerConfig {
      KeychainContainerConfig(keychainName: "com.example.mail", protection: protection)
    }
    #expect(config(.automatic) == config(.keyFile))
    #expect(config(.secretService) == config(.passphrase { SecretBytes(utf8: "a") }))
    #expect(config(.automatic) != config(.secretServiceItems))
    #expect(
      KeychainStorageContainer<User>(config: config(.keyFile))
        == KeychainStorageContainer<User>(config: config(.secretService)))
  }
}

/// Lists the items of an old installation, adopts them, and purges the ones that remain.
private func installsAreKeptApart(
  _ old: KeychainStorageContainer<User>, _ new: KeychainStorageContainer<User>
) async throws {
  let service = try StoreNamespace(service: "com.example.mail")
  let (before, after) = (InstallIdentifier(rawValue: "old"), InstallIdentifier(rawValue: "new"))
  #expect(try await new.store.installs(of: service) == [before: 1])
  let count = try await new.store.adopt(before, into: after, of: service)
  #expect(count == 1)
  #expect(try new.item(forIdentifier: "user") == User(name: "Ada"))
  #expect(try old.item(forIdentifier: "user") == nil)
  try old.storeItem(User(name: "Bob"), forIdentifier: "user")
  _ = try await new.store.purge(before, of: service)
  #expect(try old.item(forIdentifier: "user") == nil)
  #expect(try await new.store.installs(of: service) == [after: 1])
}

/// Counts how often a passphrase was asked for.
private final class Questions: Sendable {
  private let number = Mutex(0)
  var count: Int { number.withLock(\.self) }
  func add() { number.withLock { $0 += 1 } }
}

private enum KeyringState {
  case none, unlocked, locked
}

/// Gives the process a home, a bus and a keyring of its own.
private func onBus(
  keyring state: KeyringState, _ body: (_ home: String) async throws -> Void
) async throws {
  let bus = try await PrivateBus()
  use(bus)
  let home = try TemporaryDirectory()
  unsafe setenv("XDG_DATA_HOME", home.path, 1)
  var keyring: GnomeKeyring?
  if state == .none {
    unsafe unsetenv("DBUS_SESSION_BUS_ADDRESS")
    unsafe setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
  } else {
    keyring = try await GnomeKeyring(on: bus)
  }
  if state == .locked { try await OtherClient(on: bus).lock() }
  try await body(home.path)
  withExtendedLifetime((bus, home, keyring)) {}
}

private func use(_ bus: PrivateBus) {
  for (name, value) in bus.environment where name != "XDG_DATA_HOME" {
    unsafe setenv(name, value, 1)
  }
}

private func container(
  _ protection: KeychainProtection = .automatic, install: String? = nil
) -> KeychainStorageContainer<User> {
  var config = KeychainContainerConfig(
    keychainName: "com.example.mail",
    lifecycle: install.map { .currentInstall(identifier: $0) } ?? .unmanaged,
    protection: protection)
  config.secretServiceOptions = .patient
  return KeychainStorageContainer(config: config)
}

/// Returns the item that the next program with the default configuration reads.
private func item() throws -> User? {
  try container().item(forIdentifier: "user")
}

private func slots(of home: String) throws -> [KeySlot] {
  try SealedFileStore.keySlots(at: "\(home)/session-tools/com.example.mail")
}

extension KeySlot {
  fileprivate var reference: String? {
    if case .namedKey(let reference) = parameters { reference } else { nil }
  }

  fileprivate var isServiceKey: Bool { reference?.hasPrefix("secret-service:") == true }
}

/// Returns the code of the store error that a closure throws.
private func code<Result>(_ body: () throws -> Result) -> StoreError.Code? {
  do {
    _ = try body()
    return nil
  } catch {
    return (error as? StoreError)?.code
  }
}

extension StoreError.Code {
  fileprivate static let locked = StoreError.locked
  fileprivate static let unavailable = StoreError.unavailable
  fileprivate static let keyMissing = StoreError.keyMissing
  fileprivate static let wrongKey = StoreError.wrongKey
  fileprivate static let promptDismissed = StoreError.promptDismissed
  fileprivate static let unsafePermissions = StoreError.unsafePermissions
}
