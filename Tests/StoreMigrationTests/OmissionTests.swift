import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

/// What a source has and its items leave out.
@Suite(.onOwnThread) struct OmissionTests {
  private func omissions(_ count: Int) -> [Omission] {
    (0..<count).map { Omission("entry \($0)", part: "part", reason: "it is not read") }
  }

  /// A source with some items of the service `mail`.
  private func source(
    _ names: [String] = ["a", "b"], _ omissions: [Omission] = [], damage: StoreError? = nil
  ) throws -> ReadOnlyItems {
    let items = try items(Dictionary(uniqueKeysWithValues: names.map { ($0, "value of \($0)") }))
    return ReadOnlyItems(name: "a test", protection: "none", atRest: .nothing) {
      StoreListing(names: items.keys.sorted(), damage: damage, omissions: omissions)
    } read: { name in
      items[name]
    }
  }

  private func migration(
    _ source: ReadOnlyItems, to target: MemoryStore = MemoryStore(),
    journal: any SecretStore = MemoryStore(), selecting service: String? = nil,
    identifier: String? = nil
  ) -> Migration {
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    options.selection.service = service
    options.selection.identifierPattern = identifier
    return Migration(from: source, to: target, journal: journal, options: options)
  }

  private func reported(_ report: MigrationReport) throws -> [Omission] {
    var found: [Omission] = []
    try report.forEachOmission { found.append($0) }
    #expect(found.count == report.omittedCount)
    return found
  }

  // A list of a thousand is one value of the journal.
  @Test(arguments: [1, 999, 1000, 1001, 2500])
  func `all losses are planned, journaled and reported in their order`(_ count: Int) throws {
    let omissions = omissions(count)
    let (journal, target) = (MemoryStore(), MemoryStore())
    let source = try source(["a", "b"], omissions)
    let migration = migration(source, to: target, journal: journal)
    var planned: [Omission] = []
    let plan = try migration.plan { _ in
    } omitted: {
      planned.append($0)
    }
    #expect(planned == omissions)
    #expect(plan.omittedCount == count && plan.copiedCount == 2 && !plan.isComplete)
    let report = try migration.run()
    #expect(try reported(report) == omissions)
    #expect(report.migratedCount == 2 && report.failedCount == 0 && !report.isComplete)
    // In a later process.
    let resumed = try Migration(from: source, to: target, journal: journal).resume()
    #expect(try reported(resumed) == omissions)
    #expect(!resumed.isComplete)
    #expect(try migration.undo().isComplete)
    #expect(target.contents.isEmpty)
    try migration.close()
    #expect(journal.contents.isEmpty)
    #expect(throws: MigrationError.self) { try report.forEachOmission { _ in } }
  }

  @Test func `a migration that dies while it copies still knows what was left out`() throws {
    let omissions = omissions(3)
    let (journal, target) = (MemoryStore(), MemoryStore())
    let source = try source(["a", "b"], omissions)
    var lived = 0
    for changeCount in 0..<8 {
      journal.apply(journal.names(in: nil).map(StoreChange.remove))
      target.apply(target.names(in: nil).map(StoreChange.remove))
      let life = Life(changeCount: changeCount)
      var options = MigrationOptions()
      options.allowsWeakerProtection = true
      let dying = Migration(
        from: source, to: StoppingStore(target, life), journal: StoppingStore(journal, life),
        options: options)
      _ = try? dying.run()
      let next = Migration(from: source, to: target, journal: journal)
      guard try next.state() != nil else { continue }
      lived += 1
      #expect(try reported(next.resume()) == omissions)
    }
    #expect(lived > 0)
  }

  @Test func `a source with nothing but losses is not complete, and an empty one is`() throws {
    let report = try migration(source([], omissions(2))).run()
    #expect(report.omittedCount == 2 && report.migratedCount == 0 && !report.isComplete)
    #expect(try migration(source([])).run().isComplete)
  }

  @Test func `only losses of selected items count`() throws {
    let omissions = [
      Omission("mail", part: "attachment a", reason: "r", service: "mail"),
      Omission("web", part: "attachment b", reason: "r", service: "web"),
      Omission("anything", reason: "r"),
    ]
    let source = try source(["a"], omissions)
    #expect(try reported(migration(source).run()) == omissions)
    #expect(
      try reported(migration(source, selecting: "mail").run()).map(\.name) == ["mail", "anything"])
    #expect(
      try reported(migration(source, selecting: "mail", identifier: "a").run()).map(\.name)
        == ["anything"])
  }

  @Test func `a selection that matches nothing is reported with an item of the source`() throws {
    let report = try migration(source(), selecting: "typo", identifier: "x*").run()
    #expect(!report.isComplete)
    let omission = try #require(try reported(report).first)
    #expect(omission.name == #"service "typo", identifier "x*""#)
    #expect(omission.reason.hasSuffix("it has 2 items, such as a of mail"))
    // There is nothing that it could have matched.
    #expect(try migration(source([]), selecting: "typo").run().isComplete)
  }

  @Test func `what an empty source has instead is asked for only then`() throws {
    let instead = [Omission("keyring", part: "2 items of another", reason: "r")]
    func run(_ source: ReadOnlyItems) throws -> [Omission] {
      var migration = migration(source)
      migration.foundInstead = { instead }
      return try reported(migration.run())
    }
    #expect(try run(source([])) == instead)
    #expect(try run(source()) == [])
    #expect(try run(source([], omissions(1))) == omissions(1))
  }

  @Test func `weaker protection is no reason to hide that nothing was found`() throws {
    let source = ReadOnlyItems(name: "a test", protection: "much", atRest: .passphrase) {
      StoreListing(names: [], omissions: [Omission("a", reason: "r")])
    } read: { _ in
      nil
    }
    let target = HookedStore(MemoryStore())
    let migration = Migration(from: source, to: target, journal: MemoryStore())
    #expect(try migration.run().omittedCount == 1)
  }

  @Test func `names of any length fit into the journal`() throws {
    let long = String(repeating: "ä", count: 1_000_000)
    let omission = Omission(long, part: long, reason: "r")
    #expect(omission.name.utf8.count < 300 && omission.part?.hasSuffix("…") == true)
  }
}

/// Another name for a service of which the source has no items.
@Suite struct UnusedRenameTests {
  @Test(arguments: [("mail", 0), ("mial", 1), ("web", 1)])
  func `a service without selected items that is to be renamed is reported`(
    _ service: String, _ count: Int
  ) throws {
    let source = MemoryStore()
    for name in ["mail", "web"] {
      try source.put(
        SecretBytes(utf8: "1"), for: try ItemName("a", in: StoreNamespace(service: name)))
    }
    var options = MigrationOptions()
    options.selection.service = "mail"
    options.mapping.renames = [.init(service: service, newName: "post")]
    options.allowsWeakerProtection = true
    let migration = Migration(
      from: source, to: MemoryStore(), journal: MemoryStore(), options: options)
    let plan = try migration.plan()
    #expect(plan.copiedCount == 1 && plan.omittedCount == count)
    let report = try migration.run()
    #expect(report.migratedCount == 1 && report.omittedCount == count)
    #expect(report.isComplete == (count == 0))
    var names: [String] = []
    try report.forEachOmission { names.append($0.name) }
    #expect(names == Array(repeating: "service \"\(service)\"", count: count))
  }
}
