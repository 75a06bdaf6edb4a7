import SealedStore
import SessionToolsBase
import StoreMigration
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A migration followed by its reverse, with items of all sorts.
@Suite(.onOwnThread) struct RoundTripTests {
  /// Returns items with unusual names and values.
  private func items(_ random: inout SeededGenerator, count: Int) throws -> Contents {
    let services = ["mail", "com.example.a/b", "günther", "e\u{301}", "\u{e9}"]
    let groups = [nil, "group", "a=b"]
    let installs = [nil, InstallIdentifier(rawValue: "one"), InstallIdentifier(rawValue: "two")]
    let sizes = [0, 1, 31, 4096, 100_000]
    var items: Contents = [:]
    for number in 0..<count {
      let namespace = try StoreNamespace(
        service: services.randomElement(using: &random) ?? "",
        accessGroup: groups.randomElement(using: &random) ?? nil,
        install: installs.randomElement(using: &random) ?? nil)
      let byteCount = sizes.randomElement(using: &random) ?? 0
      let bytes = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: byteCount)
      items[try ItemName("item \(number) \u{1F511}\t", in: namespace)] = SecretBytes(bytes)
    }
    return items
  }

  @Test(arguments: StoreKind.pairs, 1...4)
  func `a migration and its reverse change nothing`(
    _ kinds: (StoreKind, StoreKind), _ seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let (first, second) = (try TestStore(kinds.0), try TestStore(kinds.1))
    let journals = [try TestStore(.sealed), try TestStore(.sealed)]
    // Their directories are removed with them.
    defer { withExtendedLifetime((first, second, journals)) {} }
    let count = TestSize.choose(small: 20, medium: 60, large: 3000)
    let all = try items(&random, count: count)
    // A large item takes a batch of its own.
    let large = [try name("large"): SecretBytes([UInt8](repeating: 7, count: 5 << 20))]
    let others = Dictionary(
      uniqueKeysWithValues: all.prefix(10).map { ($0.key, SecretBytes(utf8: "other")) })
    let (before, theirs) = (all.merging(large) { $1 }, others)
    try first.store.apply(before.map { .put($0.value, for: $0.key) })
    try second.store.apply(theirs.map { .put($0.value, for: $0.key) })
    var options = MigrationOptions()
    options.deletesSource = true
    options.conflicts = .skip
    options.allowsWeakerProtection = true

    let there = Migration(
      from: first.store, to: second.store, journal: journals[0].store, options: options)
    let report = try there.run()
    #expect(report.isComplete && report.migratedCount == before.count - theirs.count)
    #expect(try first.contents() == before.filter { theirs[$0.key] != nil })
    #expect(try second.contents() == before.merging(theirs) { $1 })
    let back = Migration(
      from: second.store, to: first.store, journal: journals[1].store, options: options)
    #expect(try back.run().isComplete)
    #expect(try first.contents() == before)
    #expect(try second.contents() == theirs)
    // Undoing both by their journals changes nothing either.
    #expect(try back.undo().leftCount == 0)
    #expect(try there.undo().leftCount == 0)
    #expect(try first.contents() == before)
    #expect(try second.contents() == theirs)
  }

  @Test(arguments: MigrationOptions.ConflictPolicy.allCases)
  func `undoing restores both stores, whatever the policy`(
    _ policy: MigrationOptions.ConflictPolicy
  ) throws {
    var random = SeededGenerator(seed: 5)
    let (first, second) = (try TestStore(.sealed), try TestStore(.sealed))
    let before = try items(&random, count: 30)
    var theirs = Dictionary(
      uniqueKeysWithValues: before.prefix(10).map { ($0.key, SecretBytes(utf8: "other")) })
    theirs.merge(before.suffix(5)) { $1 }
    if policy == .fail { theirs = theirs.filter { before[$0.key] == $0.value } }
    try first.store.apply(before.map { .put($0.value, for: $0.key) })
    try second.store.apply(theirs.map { .put($0.value, for: $0.key) })
    for deletesSource in [false, true] {
      var options = MigrationOptions()
      options.conflicts = policy
      options.deletesSource = deletesSource
      let migration = Migration(
        from: first.store, to: second.store, journal: MemoryStore(), options: options)
      #expect(try migration.run().isComplete)
      #expect(try second.contents() != theirs)
      #expect(try migration.undo().leftCount == 0)
      #expect(try first.contents() == before)
      #expect(try second.contents() == theirs)
    }
  }
}
