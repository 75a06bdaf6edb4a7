import SessionToolsBase
import StoreMigration
import Synchronization
import SessionToolsTestThreads
import Testing

/// Undoing that cannot restore an item, and says so.
@Suite(.onOwnThread) struct IncompleteUndoTests {
  private let theirs = SecretBytes(utf8: "theirs")
  private let damage = StoreError(.corrupt, store: "a test", reason: "a damaged item")

  private var overwriting: MigrationOptions {
    var options = MigrationOptions()
    options.conflicts = .overwrite
    return options
  }

  private var moving: MigrationOptions {
    var options = overwriting
    options.deletesSource = true
    return options
  }

  /// Expects that undoing leaves one item, and restores it once nothing is in the way.
  private func expectLeft(
    _ world: World, _ migration: Migration, _ before: [Contents], repair: () throws -> Void
  ) throws {
    let report = try migration.undo()
    #expect(try report.left.map(\.identifier) == ["a"])
    #expect(report.leftCount == 1 && !report.isComplete)
    #expect(try world.migration().state() == .undoing)
    try repair()
    let again = try world.migration().undo()
    #expect(again.leftCount == 0 && again.isComplete)
    #expect(world.contents == before)
    #expect(try world.migration().state() == .undone)
  }

  @Test func `a moved item is left if others put another value in its place`() throws {
    let world = World(source: try items(["a": "1", "b": "2"]))
    let before = world.contents
    #expect(try world.migration(moving).run().isComplete)
    let a = try name("a")
    let migrated = try #require(world.target.value(for: a))
    // The target has what it had before, namely nothing.
    world.source.apply([.put(theirs, for: a)])
    world.target.apply([.remove(a)])
    try expectLeft(world, world.migration(), before) {
      world.source.apply([.remove(a)])
      world.target.apply([.put(migrated, for: a)])
    }
  }

  @Test func `an overwritten value is left unrestored if others removed the item from both stores`()
    throws
  {
    let world = World(source: try items(["a": "1"]), target: try items(["a": "old"]))
    let before = world.contents
    #expect(try world.migration(overwriting).run().isComplete)
    let a = try name("a")
    world.source.apply([.remove(a)])
    world.target.apply([.remove(a)])
    try expectLeft(world, world.migration(), before) {
      for store in [world.source, world.target] {
        store.apply([.put(SecretBytes(utf8: "1"), for: a)])
      }
    }
  }

  @Test(arguments: [true, false], [true, false])
  func `an item that cannot be read right before it is restored is left`(
    _ isAtomic: Bool, _ isInSource: Bool
  ) throws {
    let world = World(
      source: try items(["a": "1", "b": "2"]), target: try items(["a": "old", "b": "old"]))
    let before = world.contents
    #expect(try world.migration(overwriting).run().isComplete)
    let (a, readCount) = (try name("a"), Counter())
    // It is read once before that.
    let hook: HookedStore.Hook<ItemName> = { [damage] name in
      name == a && readCount.next() > 1 ? damage : nil
    }
    let none: HookedStore.Hook<ItemName> = { _ in nil }
    let migration = Migration(
      from: HookedStore(world.source, isAtomic: isAtomic, beforeRead: isInSource ? hook : none),
      to: HookedStore(world.target, isAtomic: isAtomic, beforeRead: isInSource ? none : hook),
      journal: world.journal)
    try expectLeft(world, migration, before) {}
  }

  @Test func `an item is left if others fill its place in the source at the last moment`() throws {
    for isAtomic in [true, false] {
      let world = World(source: try items(["a": "1", "b": "2"]))
      let before = world.contents
      #expect(try world.migration(moving, isAtomic: isAtomic).run().isComplete)
      let (a, readCount) = (try name("a"), Counter())
      let hook: HookedStore.Hook<ItemName> = { [source = world.source, theirs] name in
        if name == a, readCount.next() == 2 { source.apply([.put(theirs, for: a)]) }
        return nil
      }
      let migration = Migration(
        from: HookedStore(world.source, isAtomic: isAtomic, beforeRead: hook),
        to: HookedStore(world.target, isAtomic: isAtomic), journal: world.journal)
      try expectLeft(world, migration, before) { () throws in
        #expect(world.source.contents == (try items(["a": "theirs", "b": "2"])))
        #expect(world.target.contents == (try items(["a": "1"])))
        world.source.apply([.remove(a)])
      }
    }
  }

  @Test func `an overwritten value that the target did not take back is left`() throws {
    let world = World(source: try items(["a": "1"]), target: try items(["a": "old"]))
    #expect(try world.migration(overwriting).run().isComplete)
    let migration = Migration(
      from: world.source, to: HookedStore(world.target, isIgnored: { _ in true }),
      journal: world.journal)
    let before = [try items(["a": "1"]), try items(["a": "old"])]
    try expectLeft(world, migration, before) {}
  }
}

/// Counts from 1.
final class Counter: Sendable {
  private let count = Mutex(0)

  func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}
