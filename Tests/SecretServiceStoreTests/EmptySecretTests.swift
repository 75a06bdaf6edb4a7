import SessionToolsBusTestSupport
import SealedStore
import SecretServiceStore
import SessionTools
import SessionToolsBase
import StoreMigration
import SessionToolsTestSupport
import Testing

/// A provider that returns an empty secret for a locked item, as KWallet does; this is neither a
/// value nor damage.
@Suite(.fewAtATime) struct EmptySecretTests {
  private let (name, other): (ItemName, ItemName)

  init() throws {
    name = try ItemName("item", in: "com.example.mail")
    other = try ItemName("other", in: "com.example.news")
  }

  @Test func `an empty secret of a locked item is neither damage nor absence`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "value"), for: name)
    try await store.put(SecretBytes(utf8: "another"), for: other)
    try await provider.lockGivingEmptySecrets()
    for store in [store, bus.store()] {
      for call in (reads + changes).filter({ $0.name != "contains" }) {
        #expect(
          await failure { try await call.run(store, name) } == StoreError.locked, "\(call.name)")
      }
      #expect(await failure { try await onThread { try store.listing() } } == StoreError.locked)
    }
    try await provider.unlock()
    #expect(
      try await store.items(in: nil)
        == [name: SecretBytes(utf8: "value"), other: SecretBytes(utf8: "another")])
  }

  @Test func `the person is asked to unlock the collection, and the value is returned`()
    async throws
  {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let store = bus.store { $0.prompts = .ifNeeded }
    try await store.put(SecretBytes(utf8: "value"), for: name)
    try await provider.add("theirs", ["service": "s", "username": "u"])
    for _ in 0..<2 {
      try await provider.set("Unlock", "prompt 10 done")
      try await provider.set("locked", "empty")
      #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    }
    let items = ForeignSecretServiceItems(.goKeyring, store)
    let theirs = try ItemName("u", in: "s")
    #expect(try await items.value(for: theirs) == SecretBytes(utf8: "theirs"))
    try await provider.set("locked", "empty")
    #expect(try await items.value(for: theirs) == SecretBytes(utf8: "theirs"))
  }

  /// The item is locked when it is read, and unlocked again when its state is checked.
  @Test func `an item that was locked for a moment is returned`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "value"), for: name)
    try await provider.add("theirs", ["service": "s", "username": "u"])
    for call in ["value", "keys", "items"] {
      let call = try #require(reads.first { $0.name == call })
      try await provider.set("GetSecrets", "lock 0 moment")
      #expect(await failure { try await call.run(store, name) } == nil, "\(call.name)")
    }
    let items = ForeignSecretServiceItems(.goKeyring, store)
    try await provider.set("GetSecrets", "lock 0 moment")
    #expect(
      try await items.value(for: ItemName("u", in: "s")) == SecretBytes(utf8: "theirs"))
  }

  /// As a wallet that is closed and opened again around each read.
  @Test(arguments: 1...3)
  func `an item that was locked for several reads is not empty`(_ count: Int) async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    for user in ["u", "v"] { try await provider.add(user, ["service": "s", "username": user]) }
    let items = ForeignSecretServiceItems(.goKeyring, bus.store())
    _ = try await items.names(in: nil)
    try await provider.set("GetSecrets", "moments \(count)")
    let value = try await items.value(for: ItemName("u", in: "s"))
    #expect(value == SecretBytes(utf8: "u"))
  }

  @Test func `an empty value of another program is a value only beside one that is not empty`()
    async throws
  {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    for user in ["u", "v"] { try await provider.add("", ["service": "s", "username": user]) }
    let items = ForeignSecretServiceItems(.goKeyring, bus.store())
    let empty = try ItemName("u", in: "s")
    #expect(await failure { try await items.value(for: empty) } == StoreError.corrupt)
    let target = MemoryStore()
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    let migration = Migration(from: items, to: target, journal: MemoryStore(), options: options)
    #expect(try await !migration.run().isComplete)
    #expect(try await target.names(in: nil).isEmpty)
    try await provider.add("theirs", ["service": "s", "username": "w"])
    #expect(try await items.value(for: empty) == SecretBytes(utf8: ""))
  }

  @Test func `an empty secret that is not locked is damage`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "value"), for: name)
    try await provider.set("GetSecrets", "line")
    for call in ["value", "keys", "items"] {
      let call = try #require(reads.first { $0.name == call })
      #expect(
        await failure { try await call.run(store, name) } == StoreError.corrupt, "\(call.name)")
    }
  }

  /// KWallet then returns none of the others either, and reports an invalid argument.
  @Test func `an item that is removed while others are read is absent, and they are read`()
    async throws
  {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "value"), for: name)
    try await provider.set("GetSecrets", "gone")
    try await provider.set("SearchItems", "once more")
    #expect(try await store.items(in: nil) == [name: SecretBytes(utf8: "value")])
    try await provider.set("SearchItems", "once more")
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
  }

  /// The key of a store is an item like others, and a store whose key is locked is not damaged.
  @Test func `a sealed store whose key is locked is locked`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let directory = try TemporaryDirectory()
    let name = SecretServiceKey("vault", isMadeIfAbsent: true, store: bus.store())
    _ = try await onThread { try SealedFileStore.create(at: directory["vault"], key: name) }
    try await provider.lockGivingEmptySecrets()
    #expect(
      await failure {
        try await onThread {
          try SealedFileStore.open(at: directory["vault"], key: name).names(in: nil)
        }
      } == StoreError.locked)
  }

  /// Throws the store's error that ended a migration, instead of the migration's.
  private func storeErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch MigrationError.store(let error) {
      throw error
    }
  }

  /// Resumes a migration, or runs it if it was stopped before it began.
  private func finished(_ migration: Migration) async throws -> MigrationReport {
    do {
      return try await migration.resume()
    } catch MigrationError.nothingBegun {
      return try await migration.run()
    }
  }

  @Test(arguments: [false, true])
  func `a migration out of a collection that is locked midway copies no empty value`(
    _ isForeign: Bool
  ) async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    var values: [ItemName: SecretBytes] = [:]
    for number in 0..<6 {
      let value = SecretBytes(utf8: "value \(number)")
      let name = try ItemName("user \(number)", in: "service")
      values[name] = value
      if isForeign {
        try await provider.add(
          "value \(number)", ["service": "service", "username": "user \(number)"])
      } else {
        try await bus.store().put(value, for: name)
      }
    }
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    // Locks before one read after the other, until there are no more reads.
    for readCount in 0..<30 {
      let source: any MigratableStore =
        isForeign ? ForeignSecretServiceItems(.goKeyring, bus.store()) : bus.store()
      let (target, journal) = (MemoryStore(), MemoryStore())
      let migration = Migration(from: source, to: target, journal: journal, options: options)
      try await provider.set("Unlock", "prompt 0 never")
      try await provider.set("GetSecrets", "lock \(readCount)")
      let code = await failure { try await storeErrors { try await migration.run() } }
      #expect(code == nil || code == StoreError.locked, "locked after \(readCount) reads")
      for name in try await target.names(in: nil) {
        #expect(
          try await target.value(for: name) == values[name], "locked after \(readCount) reads")
      }
      try await provider.set("GetSecrets", "")
      try await provider.unlock()
      if code != nil { #expect(try await finished(migration).isComplete) }
      for (name, value) in values { #expect(try await target.value(for: name) == value) }
    }
  }
}
