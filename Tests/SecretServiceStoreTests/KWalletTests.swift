import SessionToolsBusTestSupport
import SecretServiceStore
import SessionToolsBase
import StoreMigration
import SessionToolsTestSupport
import Testing

/// KWallet's peculiarities: a closed wallet returns empty secrets, a login opens the wallet but
/// does not unlock it, and some sessions are refused.
@Suite(.fewAtATime) struct KWalletTests {
  private let (name, absent): (ItemName, ItemName)

  init() throws {
    name = try ItemName("item", in: "com.example.mail")
    absent = try ItemName("absent", in: "com.example.mail")
  }

  /// How a wallet was closed.
  enum Closing: CaseIterable {
    case byPerson, byOtherClient, sinceStart
  }

  private func close(
    _ keyring: inout KWallet, on bus: PrivateBus, _ closing: Closing
  ) async throws {
    switch closing {
    case .byPerson: try await keyring.lock()
    case .byOtherClient: try await OtherClient(on: bus).lock()
    case .sinceStart:
      keyring.kill()
      keyring = try await KWallet(on: bus, .locked)
    }
  }

  @Test(arguments: Closing.allCases)
  func `a closed wallet is neither damage nor absence, and no question is asked`(
    _ closing: Closing
  ) async throws {
    let bus = try await PrivateBus()
    var keyring = try await KWallet(on: bus)
    let store = bus.store()
    try await keyring.saving { try await store.put(SecretBytes(utf8: "value"), for: name) }
    try await close(&keyring, on: bus, closing)
    for name in [name, absent] {
      for call in (reads + changes).filter({ $0.name != "contains" }) {
        #expect(
          await failure { try await call.run(store, name) } == StoreError.locked, "\(call.name)")
      }
    }
    #expect(try await store.contains(name), "its presence can be read")
    #expect(await failure { try await store.contains(absent) } == StoreError.locked)
    #expect(try await store.availability() == .locked)
    // The next login opens it, and nothing more is asked.
    try await keyring.signIn()
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    #expect(try await store.value(for: absent) == nil)
    #expect(try await store.names(in: nil) == [name])
    #expect(keyring.isRunning)
  }

  @Test func `a wallet that the login opened needs no question`() async throws {
    let bus = try await PrivateBus()
    var keyring = try await KWallet(on: bus)
    // KWallet saves an item in steps: killed between two, it has the item without its secret.
    var isSaved = false
    for attempt in 1...5 where !isSaved {
      let value = SecretBytes(utf8: "value \(attempt)")
      try await keyring.saving { try await bus.store().put(value, for: name) }
      keyring.kill()
      keyring = try await KWallet(on: bus, .loggedIn)
      isSaved = try await self.isSaved(value, on: bus)
    }
    try #require(isSaved)
    for call in reads + changes {
      keyring.kill()
      keyring = try await KWallet(on: bus, .loggedIn)
      #expect(try await OtherClient(on: bus).isLocked(), "the service reports it as locked")
      let store = bus.store()
      #expect(try await store.availability() == .unlocked)
      let code = await failure { try await call.run(store, name) }
      #expect(code == nil, "\(call.name)")
    }
    #expect(keyring.isRunning)
  }

  /// Returns whether a new process of KWallet has an item's secret, and not only the item.
  private func isSaved(_ value: SecretBytes, on bus: PrivateBus) async throws -> Bool {
    let (store, name) = (bus.store(), name)
    var saved: SecretBytes?
    let code = await failure { saved = try await store.value(for: name) }
    guard let code else { return saved == value }
    try #require(code == .corrupt)
    return false
  }

  /// Without a retry, one session in 256 is refused, because libsecret omits leading zeros of its
  /// public key, and in another one in 256 the two derive different keys from the shared secret.
  @Test func `no session fails`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await KWallet(on: bus)
    for round in 0..<TestSize.choose(small: 20, medium: 60, large: 5000) {
      // A new name in each round, because `put` first reads the value of an existing item.
      let name = try ItemName("\(round)", in: "service")
      let store = bus.store()
      try await store.put(SecretBytes(utf8: "value"), for: name)
      #expect(try await bus.store().value(for: name) == SecretBytes(utf8: "value"))
      try await store.remove(name)
    }
    #expect(keyring.isRunning)
  }

  /// Stores values as another program, and returns them by name.
  private func store(
    _ texts: [String], on bus: PrivateBus
  ) async throws -> [ItemName: SecretBytes] {
    var values: [ItemName: SecretBytes] = [:]
    for (number, text) in texts.enumerated() {
      try await bus.secretTool(
        "store", "--label=l", "service", "s", "username", "u\(number)", input: text)
      values[try ItemName("u\(number)", in: "s")] = SecretBytes(utf8: text)
    }
    return values
  }

  /// KWallet returns empty secrets while the wallet is closed, which later calls do not show.
  @Test func `no empty value is migrated out of a wallet that is closed for a moment`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await KWallet(on: bus)
    let values = try await store((0..<15).map { $0 == 7 ? "" : "value \($0)" }, on: bus)
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    var (copied, empty) = (0, 0)
    for round in 0..<TestSize.choose(small: 5, medium: 20, large: 200) {
      let target = MemoryStore()
      let migration = Migration(
        from: ForeignSecretServiceItems(.goKeyring, bus.store()), to: target,
        journal: MemoryStore(), options: options)
      let (steps, reporter) = AsyncStream.makeStream(of: Void.self)
      async let hasEnded: Void = {
        defer { reporter.finish() }
        do {
          _ = try await migration.run(progress: { _, _, _, _ in reporter.yield() })
        } catch MigrationError.store(let error) where error.code == .locked {
          // The wallet was closed at that moment.
        }
      }()
      // One step later in each round.
      var stepCount = 0
      for await _ in steps {
        stepCount += 1
        if stepCount > round % 40 { break }
      }
      try await keyring.lock()
      try await keyring.signIn()
      try await hasEnded
      for name in try await target.names(in: nil) {
        let value = try await target.value(for: name)
        #expect(value == values[name], "round \(round), \(name)")
        copied += 1
        empty += value?.isEmpty == true ? 1 : 0
      }
    }
    // Those that were copied are all there is, unless each migration ended early.
    #expect(copied > 0 && empty > 0)
    print("\(copied) values were copied, \(empty) of them empty")
    #expect(keyring.isRunning)
  }

  @Test func `another program's items are migrated out of a wallet that is closed midway`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await KWallet(on: bus)
    let values = try await store((0..<30).map { "value \($0)" }, on: bus)
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    for round in 0..<TestSize.choose(small: 5, medium: 20, large: 200) {
      let target = MemoryStore()
      let migration = Migration(
        from: ForeignSecretServiceItems(.goKeyring, bus.store()), to: target,
        journal: MemoryStore(), options: options)
      let (steps, reporter) = AsyncStream.makeStream(of: Void.self)
      async let code = failure {
        defer { reporter.finish() }
        do {
          return try await migration.run(progress: { _, _, _, _ in reporter.yield() }).isComplete
        } catch MigrationError.store(let error) {
          throw error
        }
      }
      // Closes the wallet during the migration, one step later in each round.
      var stepCount = 0
      for await _ in steps {
        stepCount += 1
        if stepCount > round { break }
      }
      try await keyring.lock()
      let found = await code
      #expect(found == nil || found == StoreError.locked, "round \(round)")
      for name in try await target.names(in: nil) {
        #expect(try await target.value(for: name) == values[name], "round \(round)")
      }
      try await keyring.signIn()
    }
    #expect(keyring.isRunning)
  }
}
