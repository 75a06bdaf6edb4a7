import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestSupport
import Testing

/// The promises of every store, with each provider.
@Suite(.fewAtATime) struct ConformanceTests {
  /// Returns a store, after emptying its collection.
  private static func emptied(
    onBusAt address: String
  ) async throws -> StoreUnderTest {
    let open: @Sendable () -> SecretServiceStore = {
      SecretServiceStore(
        collection: .default, options: .patient, bus: SessionBus(address: address))
    }
    let store = open()
    for name in try await store.names(in: nil) { try await store.remove(name) }
    return StoreUnderTest(store, reopen: { open() })
  }

  /// Returns the checks that are run with a provider.
  private static func checks(
    for subject: StoreUnderTest, _ kind: Keyring
  ) -> [StoreConformance.Check] {
    StoreConformance.checks(for: subject).filter { check in
      switch kind {
      // Other stores are other collections here, and both are on a bus of their own.
      case _ where check.name == "different stores have different identities": false
      // 2.7.4 sometimes crashes when several clients change an entry at once, which says nothing
      // about the store.
      case .keePassXC: !check.name.contains("at the same time")
      case .gnomeKeyring, .kWallet, .sealed: true
      }
    }
  }

  /// In a process of its own, because the environment determines where the lock file is.
  @Test(arguments: Keyring.allCases)
  func `a keyring keeps the promises of every store`(_ kind: Keyring) async throws {
    let service = try await KeyringOnBus(kind)
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) {
      [
        path = directory.path as String, address = service.bus.address as String,
        name = kind.rawValue as String
      ] in
      _ = unsafe setenv("XDG_RUNTIME_DIR", path, 1)
      do {
        let kind = try #require(Keyring(rawValue: name))
        let checks = Self.checks(for: try await Self.emptied(onBusAt: address), kind)
        #expect(checks.count > 70)
        try await StoreConformance.run(checks, patience: patience) {
          try await Self.emptied(onBusAt: address)
        }
      } catch {
        // An error thrown here would not be shown.
        Issue.record("\(error)")
      }
    }
    #expect(service.keyring.isRunning)
  }

  private static let locking = StoreConformance.all.filter { $0.requirements.contains(.locking) }

  @Test(arguments: locking)
  func `gnome-keyring keeps the promises of a store that can be locked`(
    _ check: StoreConformance.Check
  ) async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    try await check.run(patience: patience) {
      try await GnomeKeyring.signIn(on: bus)
      let items = try await Self.emptied(onBusAt: bus.address)
      return StoreUnderTest(
        items.store, reopen: items.reopen, lock: { try await OtherClient(on: bus).lock() },
        unlock: { try await GnomeKeyring.signIn(on: bus) })
    }
    #expect(keyring.isRunning)
  }

  @Test(arguments: StoreConformance.readOnly)
  func `items of other programs keep the promises of a store that is only read`(
    _ check: StoreConformance.Check
  ) async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    for (service, user) in [("b", "ada"), ("a", "ada"), ("a", "grace")] {
      try await bus.secretTool(
        "store", "--label=l", "service", service, "username", user,
        input: "\(user) at \(service)")
    }
    try await check.run(patience: patience) {
      StoreUnderTest(ForeignSecretServiceItems(.goKeyring, bus.store()))
    }
    #expect(keyring.isRunning)
  }
}
