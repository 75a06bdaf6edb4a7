import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct MigrationTests {
  private func actions(_ migration: Migration) throws -> [String: String] {
    var actions: [String: String] = [:]
    _ = try migration.plan { actions[$0.source.identifier] = $0.action.name }
    return actions
  }

  @Test func `a plan has an action for each item, and changes nothing`() throws {
    let world = World(
      source: try items([
        "new": "1", "same": "2", "other": "3", "large": String(repeating: "x", count: 1001),
      ]), target: try items(["same": "2", "other": "4"]))
    let before = world.contents
    var options = MigrationOptions()
    for (policy, action) in [
      (MigrationOptions.ConflictPolicy.fail, "conflict"), (.skip, "skip"),
      (.overwrite, "overwrite"),
      (.keepBoth, "keep-both"),
    ] {
      options.conflicts = policy
      #expect(
        try actions(world.migration(options))
          == ["new": "copy", "same": "equal", "other": action, "large": "impossible"])
    }
    #expect(world.contents == before)
    #expect(world.journal.contents.isEmpty)
  }

  @Test func `items are copied, compared and left in the source`() throws {
    let source = try items(["a": "1", "b": "", "c": "3"])
    let world = World(source: source)
    let migration = world.migration()
    let report = try migration.run()
    #expect(report.isComplete)
    #expect(try report.entries.map(\.outcome.name) == ["migrated", "migrated", "migrated"])
    #expect(report.sourceDigest == report.targetDigest && report.sourceDigest.count == 32)
    #expect(world.contents == [source, source])
    #expect(try migration.state() == .finished)
    #expect(failure { try migration.run() } == "not closed")
    try migration.close()
    #expect(try migration.state() == nil)
    #expect(world.journal.contents.isEmpty)
    #expect(failure { try migration.resume() } == "nothing begun")
    #expect(failure { try migration.undo() } == "nothing begun")
  }

  @Test func `nothing begins if a name is taken, unless the policy says what to do`() throws {
    let world = World(source: try items(["a": "1", "b": "2"]), target: try items(["b": "3"]))
    let before = world.contents
    #expect(failure { try world.migration().run() } == "conflicts")
    #expect(world.contents == before && world.journal.contents.isEmpty)

    var options = MigrationOptions()
    options.conflicts = .keepBoth
    #expect(try world.migration(options).run().isComplete)
    #expect(world.target.contents == (try items(["a": "1", "b": "3", "b (2)": "2"])))
    try world.migration().close()
    #expect(try actions(world.migration(options)) == ["a": "equal", "b": "equal"])
    options.conflicts = .skip
    #expect(
      try world.migration(options).run().entries.map(\.outcome.name) == ["migrated", "skipped"])
    try world.migration().close()
    options.conflicts = .overwrite
    #expect(try world.migration(options).run().isComplete)
    #expect(try world.target.value(for: name("b")) == SecretBytes(utf8: "2"))
    #expect(try world.migration().undo().restoredCount == 1)
    #expect(try world.target.value(for: name("b")) == SecretBytes(utf8: "3"))
  }

  @Test func `less protection than before must be allowed`() throws {
    let world = World(source: try items(["a": "1"]))
    func migration(_ before: AtRestProtection?, _ after: AtRestProtection?, isAllowed: Bool = false)
      -> Migration
    {
      var options = MigrationOptions()
      options.allowsWeakerProtection = isAllowed
      return Migration(
        from: StoppingStore(world.source, Life(), atRest: before),
        to: StoppingStore(world.target, Life(), atRest: after), journal: world.journal,
        options: options)
    }
    #expect(failure { try migration(.passphrase, .keyFile).run() } == "weaker")
    #expect(world.target.contents.isEmpty && world.journal.contents.isEmpty)
    #expect(failure { try migration(.nothing, nil).run() } == "weaker", "not known")
    #expect(failure { try migration(nil, .keyring).run() } == "weaker", "not known before")
    #expect(failure { try migration(.hardware, .keyring).run() } == "weaker")
    for (before, after) in [
      (.keyFile, .keyFile), (.nothing, .keyring), (nil, .passphrase), (nil, .hardware),
      (.hardware, .passphrase), (.passphrase, .hardware),
    ]
      as [(AtRestProtection?, AtRestProtection?)]
    {
      #expect(try migration(before, after).run().isComplete)
      try migration(nil, nil).close()
    }
    #expect(try migration(.keyring, .nothing, isAllowed: true).run().isComplete)
  }

  @Test func `a migration that copied can go on to remove the items from the source`() throws {
    let source = try items(["a": "1", "b": "2"])
    let world = World(source: source)
    #expect(try OpenMigration(inJournal: world.journal)?.state == nil)
    #expect(try world.migration().run().isComplete)
    let open = try #require(try OpenMigration(inJournal: world.journal))
    #expect(open.state == .finished && !open.deletesSource)
    #expect(open.progress == "finished, 2 copied, 0 removed from the source")

    let report = try world.migration(deleting).resume()
    #expect(try report.entries.map(\.outcome.name) == ["moved", "moved"])
    #expect(world.contents == [[:], source])
    #expect(
      try OpenMigration(inJournal: world.journal)?.progress
        == "finished, 2 copied, 2 removed from the source")
    #expect(try world.migration().undo().returnedCount == 2)
    #expect(world.contents == [source, [:]])
    #expect(failure { try world.migration(deleting).resume() } == "undone")
  }

  @Test func `a migration that goes on to remove may be stopped at any change`() throws {
    let source = try items(["a": "1", "b": "2"])
    var changeCount = 0
    while true {
      let world = World(source: source)
      #expect(try world.migration().run().isComplete)
      let life = Life(changeCount: changeCount)
      let isStopped = failure { try world.migration(deleting, life).resume() } != nil
      let comment: Comment = "stopped at change \(changeCount)"
      for (name, value) in source {
        let (left, right) = (world.source.contents[name], world.target.contents[name])
        #expect(left == value || right == value, comment)
      }
      #expect(try world.migration().undo().leftCount == 0, comment)
      #expect(world.contents == [source, [:]], comment)
      guard isStopped else { break }
      changeCount += 1
    }
    #expect(changeCount > 2)
  }

  @Test func `only a source that can be changed is emptied later`() throws {
    let world = World(source: try items(["a": "1"]))
    func migration(_ options: MigrationOptions) -> Migration {
      Migration(
        from: StoppingStore(world.source, Life(), isReadOnly: true),
        to: StoppingStore(world.target, Life()), journal: world.journal, options: options)
    }
    #expect(try migration(MigrationOptions()).run().isComplete)
    let before = world.journal.contents
    #expect(failure { try migration(deleting).resume() } == "not removable")
    #expect(world.journal.contents == before)
  }

  @Test func `a check of a plan fails as the migration would`() throws {
    let world = World(source: try items(["a": "1"]), target: try items(["a": "2"]))
    let conflict = world.migration()
    #expect(failure { try conflict.check(conflict.plan()) } == "conflicts")
    let weaker = Migration(
      from: StoppingStore(world.source, Life(), atRest: .passphrase),
      to: StoppingStore(MemoryStore(), Life()), journal: MemoryStore())
    #expect(failure { try weaker.check(weaker.plan()) } == "weaker")
    let readOnly = Migration(
      from: StoppingStore(world.source, Life(), isReadOnly: true), to: MemoryStore(),
      journal: MemoryStore(), options: deleting)
    #expect(failure { try readOnly.check(readOnly.plan()) } == "not removable")
  }

  private var deleting: MigrationOptions {
    var options = MigrationOptions()
    options.deletesSource = true
    return options
  }

  @Test func `only selected items are migrated, under their mapped names`() throws {
    let (old, group) = (
      try StoreNamespace(service: "mail", install: InstallIdentifier(rawValue: "old")),
      try StoreNamespace(service: "mail", accessGroup: "group")
    )
    let source = try items(["token": "1", "key": "2"], in: old)
      .merging(items(["token": "3"], in: group)) { $1 }
      .merging(items(["token": "4"], in: "web")) { $1 }
    let world = World(source: source)
    var options = MigrationOptions()
    options.selection.service = "mail"
    options.selection.install = "old"
    options.selection.identifierPattern = "t*"
    options.mapping.renames = [.init(service: "mail", newName: "post")]
    options.mapping.install = .assign("new")
    #expect(try world.migration(options).run().isComplete)
    let new = try StoreNamespace(service: "post", install: InstallIdentifier(rawValue: "new"))
    #expect(world.target.contents == (try items(["token": "1"], in: new)))
  }

  @Test func `two items that would have the same name are not both migrated`() throws {
    let namespaces = try ["1", "2"].map {
      try StoreNamespace(service: "mail", install: InstallIdentifier(rawValue: $0))
    }
    let world = World(
      source: try items(["token": "1"], in: namespaces[0])
        .merging(items(["token": "2"], in: namespaces[1])) { $1 })
    var options = MigrationOptions()
    options.mapping.install = .drop
    let report = try world.migration(options).run()
    #expect(try report.entries.map(\.outcome.name) == ["migrated", "failed"])
    #expect(!report.isComplete)
    #expect(world.target.contents == (try items(["token": "1"])))
  }

  @Test func `more items than one change takes are moved and brought back`() throws {
    var source: Contents = [:]
    for number in 0..<2500 { source[try name("\(number)")] = SecretBytes(utf8: "\(number)") }
    let world = World(source: source)
    var options = MigrationOptions()
    options.deletesSource = true
    let life = Life()
    let report = try world.migration(options, life).run()
    #expect(report.isComplete && report.migratedCount == 2500)
    #expect(world.contents == [[:], source])
    // The plan of three batches; these in journal and target; two phases; three removals in journal
    // and source.
    #expect(life.changeCount == 3 + 6 + 2 + 6)
    let undone = try world.migration().undo()
    #expect((undone.restoredCount, undone.returnedCount) == (2500, 2500))
    #expect(world.contents == [source, [:]])
  }

  @Test func `items get other names within one store, and no copy is removed`() throws {
    let (old, new) = (
      try StoreNamespace(service: "mail", install: InstallIdentifier(rawValue: "old")),
      try StoreNamespace(service: "mail", install: InstallIdentifier(rawValue: "new"))
    )
    let before = try items(["a": "1", "b": "2"], in: old)
      .merging(items(["a": "3", "c": "4"], in: new)) { $1 }
    for isOneObject in [true, false] {
      let store = MemoryStore()
      store.apply(before.map { .put($0.value, for: $0.key) })
      let source: any SecretStore = isOneObject ? store : StoppingStore(store, Life())
      var options = MigrationOptions()
      options.mapping.install = .assign("new")
      options.deletesSource = true
      options.conflicts = .skip
      options.allowsWeakerProtection = true
      let migration = Migration(from: source, to: store, journal: MemoryStore(), options: options)
      let report = try migration.run()
      #expect(
        store.contents
          == (try items(["a": "1"], in: old).merging(
            items(["a": "3", "b": "2", "c": "4"], in: new)
          ) { $1 }))
      #expect(
        try report.entries.map(\.outcome.name).sorted()
          == ["failed", "migrated", "migrated", "moved"])
      _ = try migration.undo()
      #expect(store.contents == before)
    }
  }

  @Test func `a finished migration that is resumed removes nothing more`() throws {
    let world = World(source: try items(["a": "1"]))
    var options = MigrationOptions()
    options.deletesSource = true
    #expect(try world.migration(options).run().entries.map(\.outcome.name) == ["moved"])
    #expect(try world.migration().resume().entries.map(\.outcome.name) == ["moved"])
    world.source.apply([.put(SecretBytes(utf8: "1"), for: try name("a"))])
    // It is not counted as removed either.
    let report = try world.migration().resume()
    #expect(try report.entries.map(\.outcome.name) == ["failed"])
    #expect(!report.isComplete)
    #expect(world.source.contents == (try items(["a": "1"])))
  }

  @Test func `a pattern is a shell pattern`() throws {
    for (pattern, text, isMatch) in [
      ("", "a", false), ("*", "a", true), ("a*", "abc", true), ("*c", "abc", true),
      ("a*c", "abc", true), ("a*c", "ab", false), ("?", "é", true), ("??", "a", false),
      ("a\\*", "a*", true), ("a\\*", "ab", false), ("*a*a*", "banana", true), ("**", "x", true),
    ] {
      var selection = MigrationOptions.Selection()
      selection.identifierPattern = pattern
      #expect(try selection.contains(name(text)) == isMatch, "\(pattern) \(text)")
    }
  }

  @Test func `an interrupted migration within one store does not migrate its own copies`() throws {
    let before = try items(["a": "1", "b": "2", "c": "3"])
    let target = try StoreNamespace(service: "web")
    for (isAtomic, changeCount) in [true, false].flatMap({ isAtomic in
      (1..<12).map { (isAtomic, $0) }
    }) {
      let store = MemoryStore()
      store.apply(before.map { .put($0.value, for: $0.key) })
      let journal = MemoryStore()
      var options = MigrationOptions()
      options.mapping.renames = [.init(service: "mail", newName: "web")]
      options.deletesSource = true
      func migration(_ life: Life) -> Migration {
        let store = StoppingStore(store, life, isAtomic: isAtomic)
        return Migration(
          from: store, to: store, journal: StoppingStore(journal, life), options: options,
          transform: { ($0, SecretBytes($1.copyBytes() + [0])) })
      }
      _ = try? migration(Life(changeCount: changeCount)).run()
      let report = try migration(Life()).resume()
      #expect(try report.isComplete && report.entries.count == 3)
      #expect(
        store.contents == (try items(["a": "1\0", "b": "2\0", "c": "3\0"], in: target)))
      #expect(try migration(Life()).undo().leftCount == 0)
      #expect(store.contents == before)
    }
  }

  @Test func `a move to a store that is not durable must be allowed`() throws {
    let world = World(source: try items(["a": "1"]))
    var options = MigrationOptions()
    options.deletesSource = true
    func migration() -> Migration {
      Migration(
        from: StoppingStore(world.source, Life(), atRest: .nothing), to: world.target,
        journal: world.journal, options: options)
    }
    #expect(failure { try migration().run() } == "weaker")
    options.allowsWeakerProtection = true
    #expect(try migration().run().isComplete)
  }
}
