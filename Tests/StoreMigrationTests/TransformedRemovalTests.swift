import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

/// Removing items from the source of which the target has other values, made by a transform.
@Suite(.onOwnThread) struct TransformedRemovalTests {
  private let theirs = SecretBytes(utf8: "theirs")

  /// Gives all spellings of a value the same one.
  private let lowercased: Migration.Transform = { name, value in
    (name, SecretBytes(value.copyBytes().map { $0 | 0x20 }))
  }

  private var moving: MigrationOptions {
    var options = MigrationOptions()
    options.deletesSource = true
    options.mapping.renames = [.init(service: "mail", newName: "post")]
    return options
  }

  /// What others do to the target before a removal.
  enum Harm: CaseIterable {
    case removed, replaced
    /// The target has the value from before the transform.
    case untransformed
  }

  @Test(arguments: Harm.allCases, [true, false])
  func `an item stays in the source if the target no longer has what the transform gave`(
    _ harm: Harm, _ isAtomic: Bool
  ) throws {
    // Before the last change of the phase, and right before the removal, which is in the journal.
    for count in isAtomic ? 3...4 : 4...5 {
      let before = try items(["a": "AAA", "b": "BBB"])
      let world = World(source: before)
      let a = try name("a", in: "post")
      let life = Life { [target = world.target, theirs] now in
        guard now == count else { return }
        switch harm {
        case .removed: target.apply([.remove(a)])
        case .replaced: target.apply([.put(theirs, for: a)])
        case .untransformed: target.apply([.put(SecretBytes(utf8: "AAA"), for: a)])
        }
      }
      let report = try world.migration(moving, life, isAtomic: isAtomic, transform: lowercased)
        .run()
      #expect(try report.entries.map(\.outcome.name) == ["failed", "moved"])
      #expect(!report.isComplete)
      #expect(world.source.contents == (try items(["a": "AAA"])))
      #expect(try world.target.value(for: name("b", in: "post")) == SecretBytes(utf8: "bbb"))
    }
  }

  @Test func `a value that others put into the source is not removed, though it becomes the same`()
    throws
  {
    for isAtomic in [true, false] {
      let world = World(source: try items(["a": "AAA", "b": "BBB"]))
      let a = try name("a")
      // Right before the removal is written to the journal with the value that is to be removed.
      let life = Life { [source = world.source] count in
        if count == (isAtomic ? 4 : 5) { source.apply([.put(SecretBytes(utf8: "Aaa"), for: a)]) }
      }
      let report = try world.migration(moving, life, isAtomic: isAtomic, transform: lowercased)
        .run()
      #expect(try report.entries.map(\.outcome.name) == ["failed", "moved"])
      #expect(world.source.contents == (try items(["a": "Aaa"])))
      // It is the value to remove from now on, and to return.
      let migration = world.migration(isAtomic: isAtomic, transform: lowercased)
      #expect(try migration.resume().isComplete)
      #expect(try migration.undo().isComplete)
      #expect(world.contents == [try items(["a": "Aaa", "b": "BBB"]), [:]])
    }
  }

  @Test func `undoing returns the value that was removed, not one that was about to be`() throws {
    let world = World(source: try items(["a": "AAA"]))
    // It dies with the first value in the journal, before that is removed.
    let dying = world.migration(moving, Life(changeCount: 5), transform: lowercased)
    #expect(failure { try dying.run() } == "io")
    world.source.apply([.put(SecretBytes(utf8: "aaa"), for: try name("a"))])
    #expect(try world.migration(transform: lowercased).resume().isComplete)
    #expect(world.source.contents.isEmpty)
    #expect(try world.migration(transform: lowercased).undo().isComplete)
    #expect(world.contents == [try items(["a": "aaa"]), [:]])
  }
}
