import SessionToolsBusTestSupport
import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import StoreMigration
import SessionToolsTestSupport
import Testing

/// Migrations out of keyrings and into them.
@Suite(.fewAtATime) struct MigrationTests {
  private typealias Contents = [ItemName: SecretBytes]

  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func sealed(_ name: String) throws -> SealedFileStore {
    try SealedFileStore.create(
      at: directory[name], key: KeyFile.create(at: directory["\(name).key"]))
  }

  /// Items of several names, one of them large.
  private func items(count: Int) throws -> Contents {
    var items: Contents = [:]
    for number in 0..<count {
      let namespace = try StoreNamespace(
        service: number.isMultiple(of: 2) ? "mail" : "web é",
        accessGroup: number.isMultiple(of: 3) ? "group" : nil)
      let byteCount = number == 7 ? 100_000 : number * 3
      items[try ItemName("item \(number)", in: namespace)] = SecretBytes(
        [UInt8](repeating: UInt8(number), count: byteCount))
    }
    return items
  }

  private func contents(_ store: any SecretStore) async throws -> Contents {
    var contents: Contents = [:]
    for name in try await store.names(in: nil) { contents[name] = try await store.value(for: name) }
    return contents
  }

  private func moving() -> MigrationOptions {
    var options = MigrationOptions()
    options.deletesSource = true
    options.allowsWeakerProtection = true
    return options
  }

  /// The other store of a migration.
  enum Partner: CaseIterable {
    case sealed, memory
  }

  @Test(arguments: Keyring.allCases, Partner.allCases)
  func `a migration out of a keyring and back changes nothing`(
    _ kind: Keyring, _ partner: Partner
  ) async throws {
    let service = try await KeyringOnBus(kind)
    let keyring = service.bus.store()
    let other: any MigratableStore = partner == .sealed ? try sealed("vault") : MemoryStore()
    let before = try items(count: 30)
    try await keyring.apply(before.map { .put($0.value, for: $0.key) })
    let journals = [try sealed("first"), try sealed("second")]
    let there = Migration(from: keyring, to: other, journal: journals[0], options: moving())
    let report = try await there.run()
    #expect(report.isComplete && report.migratedCount == before.count)
    #expect(try await contents(keyring).isEmpty)
    #expect(try await contents(other) == before)
    let back = Migration(from: other, to: keyring, journal: journals[1], options: moving())
    #expect(try await back.run().isComplete)
    #expect(try await contents(keyring) == before)
    #expect(try await contents(other).isEmpty)
    #expect(try await back.undo().leftCount == 0)
    #expect(try await there.undo().leftCount == 0)
    #expect(try await contents(keyring) == before)
    #expect(try await contents(other).isEmpty)
  }

  @Test func `items are migrated between collections, and one with two names is the same`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let (first, second) = (bus.store(.named("login")), bus.store(.named("session")))
    let before = try items(count: 10)
    try await first.apply(before.map { .put($0.value, for: $0.key) })
    let journal = try sealed("journal")
    var options = moving()
    options.allowsWeakerProtection = false
    await #expect {
      _ = try await Migration(from: first, to: second, journal: journal, options: options).run()
    } throws: { error in
      if case MigrationError.weakerProtection = error { true } else { false }
    }
    let there = Migration(from: first, to: second, journal: journal, options: moving())
    #expect(try await there.run().isComplete)
    #expect(try await contents(first).isEmpty)
    #expect(try await contents(second) == before)
    #expect(try await there.undo().leftCount == 0)
    #expect(try await contents(first) == before)

    // Its alias and its label; and the default collection, whose items are in any.
    for (source, target) in [
      (first, bus.store(.named("Login"))), (first, bus.store()), (bus.store(), first),
    ] {
      let again = Migration(from: source, to: target, journal: MemoryStore(), options: moving())
      let report = try await again.run()
      #expect(report.isComplete && report.migratedCount == before.count)
      #expect(try await contents(first) == before)
    }
    withExtendedLifetime(keyring) {}
  }

  @Test func `keys of sealed stores stay in the keyring`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let store = bus.store()
    let kept = try ItemName("vault", in: "org.session-tools.keys")
    try await store.put(SecretBytes(utf8: "key"), for: kept)
    try await store.put(SecretBytes(utf8: "1"), for: ItemName("a", in: "mail"))
    let target = MemoryStore()
    let report = try await Migration(
      from: store, to: target, journal: MemoryStore(), options: moving()
    ).run()
    var outcomes: [String] = []
    try report.forEachEntry { outcomes.append($0.outcome.name) }
    #expect(outcomes == ["moved", "left"])
    #expect(try await contents(store) == [kept: SecretBytes(utf8: "key")])
    withExtendedLifetime(keyring) {}
  }

  @Test func `two thousand items go into a sealed store`() async throws {
    var items: Contents = [:]
    for number in 0..<2000 {
      items[try ItemName("item-\(number)", in: "many")] = SecretBytes(utf8: "value \(number)")
    }
    let bus = try await PrivateBus()
    try PlainKeyring.write(items, on: bus)
    let keyring = try await GnomeKeyring(on: bus, .locked)
    let store = bus.store { $0.timeout = .seconds(300) }
    // Unlocks the keyring first; this is not measured.
    #expect(try await store.names(in: nil).count == 2000)
    let target = try sealed("vault")
    var options = MigrationOptions()
    // A key file is weaker than a password.
    options.allowsWeakerProtection = true
    let migration = Migration(
      from: store, to: target, journal: try sealed("journal"), options: options)
    let clock = ContinuousClock()
    let start = clock.now
    let report = try await migration.run()
    print("2,000 items from gnome-keyring to a sealed store: \(clock.now - start)")
    #expect(report.isComplete)
    #expect(try await contents(target) == items)
    withExtendedLifetime(keyring) {}
  }
}
