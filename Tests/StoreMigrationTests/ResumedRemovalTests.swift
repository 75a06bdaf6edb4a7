import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

/// Resuming a migration whose items were, or are to be, removed from the source.
@Suite(.onOwnThread) struct ResumedRemovalTests {
  private let theirs = SecretBytes(utf8: "theirs")

  private var moving: MigrationOptions {
    var options = MigrationOptions()
    options.deletesSource = true
    return options
  }

  private func outcomes(_ report: MigrationReport) throws -> [String] {
    try report.entries.map(\.outcome.name)
  }

  @Test func `an item that others put back is removed again when resuming says so`() throws {
    let before = try items(["a": "1", "b": "2"])
    let world = World(source: before)
    #expect(try world.migration(moving).run().isComplete)
    world.source.apply([.put(SecretBytes(utf8: "1"), for: try name("a"))])
    #expect(try outcomes(world.migration().resume()) == ["failed", "moved"])
    #expect(world.source.contents.count == 1)
    let report = try world.migration(moving).resume()
    #expect(try outcomes(report) == ["moved", "moved"])
    #expect(report.isComplete)
    #expect(world.contents == [[:], before])
    #expect(try world.migration().state() == .finished)
    #expect(try world.migration().undo().isComplete)
    #expect(world.contents == [before, [:]])
  }

  @Test func `a moved item is still returned after others had another value in its place`()
    throws
  {
    let before = try items(["a": "1", "b": "2"])
    let world = World(source: before)
    #expect(try world.migration(moving).run().isComplete)
    let a = try name("a")
    world.source.apply([.put(theirs, for: a)])
    let report = try world.migration().resume()
    #expect(try outcomes(report) == ["failed", "moved"])
    #expect(!report.isComplete)
    #expect(world.source.contents == [a: theirs])
    world.source.apply([.remove(a)])
    #expect(try outcomes(world.migration().resume()) == ["moved", "moved"])
    #expect(try world.migration().undo().isComplete)
    #expect(world.contents == [before, [:]])
  }

  @Test func `a moved item counts as moved again once the source can be read`() throws {
    let before = try items(["a": "1", "b": "2"])
    let world = World(source: before)
    #expect(try world.migration(moving).run().isComplete)
    let a = try name("a")
    let damaged = HookedStore(
      world.source,
      beforeRead: { name in
        name == a ? StoreError(.corrupt, store: "a test", reason: "a damaged item") : nil
      })
    let migration = Migration(
      from: damaged, to: HookedStore(world.target), journal: world.journal)
    #expect(try outcomes(migration.resume()) == ["failed", "moved"])
    #expect(try outcomes(world.migration().resume()) == ["moved", "moved"])
    #expect(try world.migration().undo().isComplete)
    #expect(world.contents == [before, [:]])
  }

  @Test func `a removal that failed is still to be made after the resumption finished`() throws {
    let before = try items(["a": "1", "b": "2"])
    let world = World(source: before)
    let a = try name("a")
    // Right before the removal.
    let life = Life { [target = world.target] count in
      if count == 3 { target.apply([.remove(a)]) }
    }
    #expect(try outcomes(world.migration(moving, life).run()) == ["failed", "moved"])
    #expect(try outcomes(world.migration().resume()) == ["failed", "moved"])
    #expect(try world.migration().state() == .unfinished)
    world.target.apply([.put(SecretBytes(utf8: "1"), for: a)])
    #expect(try outcomes(world.migration().resume()) == ["moved", "moved"])
    #expect(world.contents == [[:], before])
  }

  @Test func `an item that is put back and removed again may be undone after any change`() throws {
    let before = try items(["a": "1", "b": "2"])
    var changeCount = 0
    while true {
      let world = World(source: before)
      #expect(try world.migration(moving).run().isComplete)
      world.source.apply([.put(SecretBytes(utf8: "1"), for: try name("a"))])
      let life = Life(changeCount: changeCount)
      let isStopped = failure { try world.migration(moving, life).resume() } != nil
      let comment: Comment = "stopped at change \(changeCount)"
      #expect(world.target.contents == before, comment)
      #expect(try world.migration().undo().isComplete, comment)
      #expect(world.contents == [before, [:]], comment)
      guard isStopped else { break }
      changeCount += 1
    }
    #expect(changeCount > 2)
  }
}
