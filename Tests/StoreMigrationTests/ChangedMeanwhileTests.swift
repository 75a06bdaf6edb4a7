import Dispatch
import SealedStore
import SessionToolsBase
import StoreMigration
import Synchronization
import SessionToolsTestStores
import SessionToolsTestThreads
import Testing

/// Stores that others change while a migration is under way, or before it is undone.
@Suite(.onOwnThread) struct ChangedMeanwhileTests {
  private let theirs = SecretBytes(utf8: "theirs")

  private func moving(_ conflicts: MigrationOptions.ConflictPolicy = .fail) -> MigrationOptions {
    var options = MigrationOptions()
    options.deletesSource = true
    options.conflicts = conflicts
    return options
  }

  private func outcomes(_ report: MigrationReport) throws -> [String] {
    try report.entries.map(\.outcome.name)
  }

  /// The numbers of the changes of a move of one batch: plan, batch, target, phase, removal,
  /// source, phase.
  private enum Change {
    static let target = 2
    static let phase = 3
    static let removal = 4
  }

  @Test func `an item that the target lost before its removal stays in the source`() throws {
    let world = World(source: try items(["a": "1", "b": "2"]))
    let a = try name("a")
    let life = Life { [target = world.target] count in
      if count == Change.phase { target.apply([.remove(a)]) }
    }
    let report = try world.migration(moving(), life).run()
    #expect(try outcomes(report) == ["failed", "moved"])
    #expect(!report.isComplete)
    #expect(world.contents == [try items(["a": "1"]), try items(["b": "2"])])
  }

  @Test func `an item that the target lost after it was verified stays in the source`() throws {
    // The second batch is verified again after the first one was removed.
    var source: Contents = [:]
    for number in 0..<1001 { source[try name("\(1000 + number)")] = theirs }
    let world = World(source: source)
    let last = try name("2000")
    let life = Life { [target = world.target, first = try name("1000"), source = world.source] _ in
      if source.value(for: first) == nil { target.apply([.remove(last)]) }
    }
    let report = try world.migration(moving(), life).run()
    #expect(report.failedCount == 1)
    #expect(world.source.contents == [last: theirs])
    #expect(world.target.contents.count == 1000)
  }

  @Test func `a value put into the source after it was verified is not removed`() throws {
    for isAtomic in [true, false] {
      let world = World(source: try items(["a": "1", "b": "2"]))
      let a = try name("a")
      let removal = isAtomic ? Change.removal : Change.removal + 1
      let life = Life { [source = world.source, theirs] count in
        if count == removal { source.apply([.put(theirs, for: a)]) }
      }
      let report = try world.migration(moving(), life, isAtomic: isAtomic).run()
      #expect(try outcomes(report) == ["failed", "moved"])
      #expect(world.source.contents == [a: theirs])
      #expect(try world.migration(isAtomic: isAtomic).state() == .unfinished)
      world.source.apply([.put(SecretBytes(utf8: "1"), for: a)])
      #expect(try outcomes(world.migration(isAtomic: isAtomic).resume()) == ["moved", "moved"])
      #expect(world.source.contents.isEmpty)
    }
  }

  @Test func `a value put into the target before it is written stays`() throws {
    for isAtomic in [true, false] {
      let world = World(source: try items(["a": "1", "b": "2"]), target: try items(["b": "old"]))
      let (a, b) = (try name("a"), try name("b"))
      var options = MigrationOptions()
      options.conflicts = .overwrite
      let life = Life { [target = world.target, theirs] count in
        if count == 1 { target.apply([.put(theirs, for: a), .put(theirs, for: b)]) }
      }
      #expect(
        try outcomes(world.migration(options, life, isAtomic: isAtomic).run())
          == ["failed", "failed"])
      #expect(world.target.contents == [a: theirs, b: theirs])
      #expect(try world.migration(isAtomic: isAtomic).undo().leftCount == 2)
      #expect(world.target.contents == [a: theirs, b: theirs])
    }
  }

  @Test func `a migration out of a store that is locked midway can be resumed`() throws {
    let source = try TestStore(.sealed)
    let store = try #require(source.store as? SealedFileStore)
    try store.apply(items(["a": "1", "b": "2"]).map { .put($0.value, for: $0.key) })
    let target = MemoryStore()
    var options = moving()
    options.allowsWeakerProtection = true
    let migration = Migration(
      from: store, to: target, journal: MemoryStore(), options: options)
    let locking: Migration.Progress = { phase, done, total, _ in
      if phase == .copying, done == total { store.lock() }
    }
    #expect(failure { try migration.run(progress: locking) } == "locked")
    #expect(try migration.state() == .unfinished)
    #expect(failure { try migration.resume() } == "locked")
    try store.unlock(with: source.key)
    #expect(try outcomes(migration.resume()) == ["moved", "moved"])
    #expect(try store.names(in: nil).isEmpty)
  }

  @Test func `damage to the source after planning is reported by resuming`() throws {
    let source = try TestStore(.sealed)
    try source.store.apply(items(["a": "1", "b": "2"]).map { .put($0.value, for: $0.key) })
    let (target, journal) = (MemoryStore(), MemoryStore())
    var options = MigrationOptions()
    options.allowsWeakerProtection = true
    func migration(_ life: Life) -> Migration {
      Migration(
        from: source.store, to: target, journal: StoppingStore(journal, life), options: options)
    }
    #expect(failure { try migration(Life(changeCount: 1)).run() } == "io")
    try source.damageLastRecord()
    let report = try migration(Life()).resume()
    #expect(try outcomes(report).sorted() == ["failed", "migrated"])
    #expect(!report.isComplete)
  }

  @Test func `a value changed in the target after planning is not overwritten`() throws {
    let world = World(source: try items(["a": "1"]), target: try items(["a": "old"]))
    let a = try name("a")
    var options = MigrationOptions()
    options.conflicts = .overwrite
    let life = Life { [target = world.target, theirs] count in
      if count == 0 { target.apply([.put(theirs, for: a)]) }
    }
    #expect(try outcomes(world.migration(options, life).run()) == ["failed"])
    #expect(world.target.contents == [a: theirs])
    _ = try world.migration().undo()
    #expect(world.target.contents == [a: theirs])
  }

  @Test func `items changed in or removed from the source after planning are not copied`() throws {
    let world = World(source: try items(["a": "1", "b": "2"]))
    let (a, b) = (try name("a"), try name("b"))
    let life = Life { [source = world.source, theirs] count in
      if count == 0 { source.apply([.put(theirs, for: a), .remove(b)]) }
    }
    let report = try world.migration(moving(), life).run()
    #expect(try outcomes(report) == ["failed", "failed"])
    #expect(world.contents == [[a: theirs], [:]])
    // Reported outcomes do not change.
    #expect(try outcomes(world.migration().resume()) == ["failed", "failed"])
  }

  @Test func `undoing keeps an item in the target that others removed from the source`() throws {
    let world = World(source: try items(["a": "1", "b": "2"]))
    #expect(try world.migration().run().isComplete)
    world.source.apply([.remove(try name("a"))])
    let report = try world.migration().undo()
    #expect(try report.left.map(\.identifier) == ["a"])
    #expect((report.restoredCount, report.returnedCount) == (1, 0))
    #expect(world.contents == [try items(["b": "2"]), try items(["a": "1"])])
  }

  @Test func `undoing a move keeps both values if others put another one`() throws {
    let world = World(source: try items(["a": "1", "b": "2"]))
    #expect(try world.migration(moving()).run().isComplete)
    world.source.apply([.put(theirs, for: try name("a"))])
    let report = try world.migration().undo()
    #expect(try report.left.map(\.identifier) == ["a"])
    #expect(
      world.contents == [
        try items(["a": "theirs", "b": "2"]), try items(["a": "1"]),
      ])
  }

  @Test func `undoing returns items that were moved, and none that others removed before`() throws {
    let world = World(source: try items(["a": "1", "b": "2"]))
    let a = try name("a")
    let life = Life { [source = world.source] count in
      if count == Change.phase { source.apply([.remove(a)]) }
    }
    #expect(try outcomes(world.migration(moving(), life).run()) == ["failed", "moved"])
    let report = try world.migration().undo()
    #expect(try report.left.map(\.identifier) == ["a"])
    #expect(world.contents == [try items(["b": "2"]), try items(["a": "1"])])
  }

  @Test func `an item that others removed after it was copied is not copied again by resuming`()
    throws
  {
    let world = World(source: try items(["a": "1", "b": "2"]))
    // It dies right after the change of the target.
    let dying = world.migration(MigrationOptions(), Life(changeCount: Change.target + 1))
    #expect(failure { try dying.run() } == "io")
    world.target.apply([.remove(try name("a"))])
    #expect(try outcomes(world.migration().resume()) == ["failed", "migrated"])
    #expect(world.target.contents == (try items(["b": "2"])))
  }

  @Test func `undoing does not return an item that others removed right before its removal`()
    throws
  {
    let world = World(source: try items(["a": "1", "b": "2"]))
    let a = try name("a")
    let life = Life { [source = world.source] count in
      if count == Change.removal { source.apply([.remove(a)]) }
    }
    #expect(try outcomes(world.migration(moving(), life).run()) == ["failed", "moved"])
    let report = try world.migration().undo()
    #expect(try report.left.map(\.identifier) == ["a"])
    #expect(world.contents == [try items(["b": "2"]), try items(["a": "1"])])
  }

  @Test func `undoing restores what the target had when it was changed, not when that was planned`()
    throws
  {
    let before = try items(["lost": "1", "came": "2"])
    let world = World(source: before, target: try items(["lost": "1", "came": "old"]))
    let (lost, came) = (try name("lost"), try name("came"))
    var options = MigrationOptions()
    options.conflicts = .overwrite
    let life = Life { [target = world.target] count in
      guard count == 0 else { return }
      target.apply([.remove(lost), .put(SecretBytes(utf8: "2"), for: came)])
    }
    #expect(try world.migration(options, life).run().isComplete)
    #expect(world.target.contents == before)
    #expect(try world.migration().undo().leftCount == 0)
    #expect(world.contents == [before, try items(["came": "2"])])
  }

  @Test func `undoing a part of a batch leaves what others put under the other names`() throws {
    let world = try World.large()
    let watch = Watch()
    var migration = world.migration()
    migration.isCancelled = { watch.isCancelled.load(ordering: .relaxed) }
    let progress: Migration.Progress = { phase, done, _, _ in
      if phase == .copying, done == 1500 { watch.isCancelled.store(true, ordering: .relaxed) }
    }
    #expect(failure { try migration.run(progress: progress) } == "cancelled")
    let other = world.source.names(in: nil)[1700]
    #expect(world.target.contents.count == 1500 && world.target.value(for: other) == nil)
    world.target.apply([.put(theirs, for: other)])
    #expect(try world.migration().undo().leftCount == 0)
    #expect(world.target.contents == [other: theirs])
  }

  @Test func `an item that was changed by a transform comes back as it was`() throws {
    let before = try items(["a": "1", "b": "2"])
    let world = World(source: before)
    let transform: Migration.Transform = { name, value in
      (name, SecretBytes(value.copyBytes() + [0]))
    }
    _ = try world.migration(moving(), transform: transform).run()
    world.target.apply([.put(theirs, for: try name("a"))])
    let report = try world.migration(transform: transform).undo()
    #expect(try report.left.map(\.identifier) == ["a"])
    #expect(report.returnedCount == 2)
    #expect(world.contents == [before, try items(["a": "theirs"])])
  }

  @Test func `a migration continues only between the stores with which it began`() throws {
    let world = World(source: try items(["a": "1"]))
    let life = Life(changeCount: Change.target)
    #expect(failure { try world.migration(moving(), life).run() } == "io")
    let swapped = Migration(from: world.target, to: world.source, journal: world.journal)
    #expect(failure { try swapped.resume() } == "other source")
    #expect(failure { try swapped.undo() } == "other source")
    let elsewhere = Migration(from: world.source, to: MemoryStore(), journal: world.journal)
    #expect(failure { try elsewhere.undo() } == "other target")
    #expect(
      failure { try world.migration(transform: { ($0, $1) }).resume() } == "other transform")
    #expect(try world.migration().resume().isComplete)
  }

  @Test func `a target that protects less than at the beginning needs permission`() throws {
    let world = World(source: try items(["a": "1"]))
    func migration(_ life: Life, to atRest: AtRestProtection) -> Migration {
      Migration(
        from: StoppingStore(world.source, life, atRest: .keyring),
        to: StoppingStore(world.target, life, atRest: atRest), journal: world.journal)
    }
    #expect(failure { try migration(Life(changeCount: 0), to: .passphrase).run() } == "io")
    #expect(failure { try migration(Life(), to: .keyFile).resume() } == "weaker")
    #expect(world.target.contents.isEmpty)
    #expect(try migration(Life(), to: .passphrase).resume().isComplete)
  }

  @Test func `nothing is removed from a store that is only read, or that has no identity`() throws {
    let world = World(source: try items(["a": "1"]))
    let readOnly = StoppingStore(world.source, Life(), isReadOnly: true)
    let journal = MemoryStore()
    var options = moving()
    options.allowsWeakerProtection = true
    for source in [readOnly as any SecretStore, UnidentifiedStore(base: world.source)] {
      let migration = Migration(
        from: source, to: world.target, journal: journal, options: options)
      #expect(failure { try migration.run() } == "not removable")
      #expect(journal.contents.isEmpty && world.target.contents.isEmpty)
    }
    let copy = Migration(
      from: UnidentifiedStore(base: world.source), to: world.target, journal: journal)
    #expect(try copy.run().isComplete)
    #expect(try copy.undo().restoredCount == 1)
    #expect(world.target.contents.isEmpty)
  }

  @Test func `items that stores and migrations need for themselves are left`() throws {
    var before = try items(["a": "1"])
    before.merge(try items(["vault": "key"], in: "org.session-tools.keys")) { $1 }
    before.merge(try items(["header": "x"], in: "org.session-tools.migration")) { $1 }
    let world = World(source: before)
    let report = try world.migration(moving()).run()
    #expect(try outcomes(report) == ["moved", "left", "left"])
    #expect(report.isComplete)
    #expect(world.target.contents == (try items(["a": "1"])))
    #expect(try outcomes(world.migration().resume()) == ["moved", "left", "left"])
    var options = MigrationOptions()
    options.mapping.renames = [.init(service: "mail", newName: "org.session-tools.keys")]
    let other = World(source: try items(["a": "1"]))
    #expect(try outcomes(other.migration(options).run()) == ["failed"])
  }

  @Test func `closing that is interrupted counts, and the next migration clears up`() throws {
    for isAtomic in [true, false] {
      let world = World(source: try items(["a": "1", "b": "2"]))
      #expect(try world.migration().run().isComplete)
      for changeCount in 1..<4 {
        let life = Life(changeCount: changeCount)
        let closing = Migration(
          from: world.source, to: world.target,
          journal: StoppingStore(world.journal, life, isAtomic: isAtomic))
        guard failure(of: { try closing.close() }) != nil else { continue }
        #expect(try world.migration().state() == nil)
        #expect(failure { try world.migration().resume() } == "nothing begun")
      }
      #expect(try world.migration().run().entries.map(\.outcome.name) == ["migrated", "migrated"])
      try world.migration().close()
      #expect(world.journal.contents.isEmpty)
    }
  }
}

/// A store that has only the functions of all stores.
private struct UnidentifiedStore: BlockingSecretStore, ForwardingStore {
  let base: MemoryStore
  var executor: BlockingExecutor { base.executor }

  func value(for name: ItemName) -> SecretBytes? { base.value(for: name) }
  func apply(_ changes: [StoreChange]) { base.apply(changes) }
  func names(in namespace: StoreNamespace?) -> [ItemName] { base.names(in: namespace) }
}
