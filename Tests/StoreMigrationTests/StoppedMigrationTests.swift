import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

/// A migration whose process dies at any change of any of its stores.
@Suite(.onOwnThread) struct StoppedMigrationTests {
  /// A way to migrate, with everything that affects the changes.
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var options = MigrationOptions()
    var isAtomic = true
    var transform: Migration.Transform?
  }

  static let cases: [Case] = [
    Case(testDescription: "copy"),
    Case(testDescription: "one by one", isAtomic: false),
    Case(testDescription: "move", options: moving()),
    Case(testDescription: "move one by one", options: moving(), isAtomic: false),
    Case(
      testDescription: "move and transform", options: moving(), isAtomic: false,
      transform: { name, value in (name, SecretBytes(value.copyBytes().reversed())) }),
  ]

  private static func moving() -> MigrationOptions {
    var options = MigrationOptions()
    options.deletesSource = true
    return options
  }

  private func world() throws -> World {
    World(
      source: try items(["a": "new a", "b": "same", "c": "new c"]),
      target: try items(["a": "old a", "b": "same", "z": "other"]))
  }

  private func options(_ options: MigrationOptions) -> MigrationOptions {
    var options = options
    options.conflicts = .overwrite
    return options
  }

  /// Expects that every value is in one of the stores.
  private func expectNothingLost(_ world: World, _ before: [Contents], _ test: Case) throws {
    for (name, value) in before[0] {
      let made = try test.transform?(name, value)?.value ?? value
      #expect(
        world.source.value(for: name) == value || world.target.value(for: name) == made,
        "\(name) is in neither store")
    }
  }

  @Test(arguments: cases)
  func `an interrupted migration is finished by resuming, with the same result`(_ test: Case) throws
  {
    let whole = try world()
    let life = Life()
    let report = try whole.migration(
      options(test.options), life, isAtomic: test.isAtomic, transform: test.transform
    ).run()
    #expect(report.isComplete && report.migratedCount == 3)
    for changeCount in 0..<life.changeCount {
      let world = try world()
      let before = world.contents
      let dying = world.migration(
        options(test.options), Life(changeCount: changeCount), isAtomic: test.isAtomic,
        transform: test.transform)
      #expect(failure { try dying.run() } == "io")
      try expectNothingLost(world, before, test)
      let again = world.migration(isAtomic: test.isAtomic, transform: test.transform)
      if try again.state() == nil {
        #expect(world.contents == before)
        continue
      }
      #expect(failure { try again.run() } == "not closed")
      let resumed = try again.resume()
      #expect(resumed.isComplete, "after \(changeCount) changes")
      #expect(try resumed.entries.map(\.outcome.name) == report.entries.map(\.outcome.name))
      #expect(world.contents == whole.contents, "after \(changeCount) changes")
      #expect(try again.state() == .finished)
      try again.close()
      #expect(world.journal.contents.isEmpty)
    }
  }

  @Test(arguments: cases)
  func `an interrupted migration is undone, even if the undo is interrupted`(_ test: Case) throws {
    let life = Life()
    _ = try world().migration(
      options(test.options), life, isAtomic: test.isAtomic, transform: test.transform
    ).run()
    for changeCount in 1...life.changeCount {
      for undoChangeCount in 0..<10 {
        let world = try world()
        let before = world.contents
        _ = try? world.migration(
          options(test.options), Life(changeCount: changeCount), isAtomic: test.isAtomic,
          transform: test.transform
        ).run()
        _ = try? world.migration(
          MigrationOptions(), Life(changeCount: undoChangeCount), isAtomic: test.isAtomic,
          transform: test.transform
        ).undo()
        try expectNothingLost(world, before, test)
        let again = world.migration(isAtomic: test.isAtomic, transform: test.transform)
        #expect(try again.undo().leftCount == 0)
        #expect(world.contents == before, "after \(changeCount) and \(undoChangeCount) changes")
        #expect(failure { try again.resume() } == "undone")
        try again.close()
        #expect(world.journal.contents.isEmpty)
      }
    }
  }

  @Test(arguments: cases)
  func `an item that others changed meanwhile is reported and left`(_ test: Case) throws {
    let life = Life()
    _ = try world().migration(
      options(test.options), life, isAtomic: test.isAtomic, transform: test.transform
    ).run()
    let theirs = SecretBytes(utf8: "theirs")
    for changeCount in 2..<life.changeCount {
      for isInSource in [true, false] {
        let world = try world()
        _ = try? world.migration(
          options(test.options), Life(changeCount: changeCount), isAtomic: test.isAtomic,
          transform: test.transform
        ).run()
        (isInSource ? world.source : world.target).apply([.put(theirs, for: try name("c"))])
        let report = try world.migration(isAtomic: test.isAtomic, transform: test.transform)
          .resume()
        let store = isInSource ? world.source : world.target
        #expect(store.value(for: try name("c")) == theirs, "after \(changeCount) changes")
        let entry = try #require(report.entries.first { $0.source.identifier == "c" })
        if !isInSource { #expect(entry.outcome.name == "failed") }
        _ = try world.migration(isAtomic: test.isAtomic, transform: test.transform).undo()
        #expect(store.value(for: try name("c")) == theirs, "undone after \(changeCount) changes")
      }
    }
  }
}
