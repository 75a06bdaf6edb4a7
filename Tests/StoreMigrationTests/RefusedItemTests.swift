import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

/// Stores that refuse to take one item.
@Suite(.onOwnThread) struct RefusedItemTests {
  private let refusal = StoreError(
    .invalidName, store: "a test", reason: "it takes no item of this name")

  private var moving: MigrationOptions {
    var options = MigrationOptions()
    options.deletesSource = true
    return options
  }

  /// Returns a store that does not take the item `b`.
  private func refusing(_ store: MemoryStore, isAtomic: Bool) throws -> HookedStore {
    let b = try name("b")
    return HookedStore(
      store, isAtomic: isAtomic,
      beforeChange: { [refusal] changes in
        changes.contains { if case .put = $0 { $0.name == b } else { false } } ? refusal : nil
      })
  }

  @Test(arguments: [true, false])
  func `an item that the target refuses stays in the source, and the others are moved`(
    _ isAtomic: Bool
  ) throws {
    let before = try items(["a": "1", "b": "2", "c": "3"])
    let world = World(source: before)
    let migration = Migration(
      from: HookedStore(world.source, isAtomic: isAtomic),
      to: try refusing(world.target, isAtomic: isAtomic), journal: world.journal, options: moving)
    let report = try migration.run()
    #expect(try report.entries.map(\.outcome.name) == ["moved", "failed", "moved"])
    #expect(world.contents == [try items(["b": "2"]), try items(["a": "1", "c": "3"])])
    for entry in try report.entries where entry.source.identifier == "b" {
      guard case .failed(let error) = entry.outcome else { continue }
      #expect(error.code == .invalidName && error.reason == refusal.reason)
    }
    let again = try migration.resume()
    #expect(try again.entries.map(\.outcome.name) == ["moved", "failed", "moved"])
    #expect(try migration.undo().isComplete)
    #expect(world.contents == [before, [:]])
  }

  @Test(arguments: [true, false])
  func `an item that the source does not take back is left, and the others are restored`(
    _ isAtomic: Bool
  ) throws {
    let before = try items(["a": "1", "b": "2", "c": "3"])
    let world = World(source: before)
    #expect(try world.migration(moving, isAtomic: isAtomic).run().isComplete)
    let migration = Migration(
      from: try refusing(world.source, isAtomic: isAtomic),
      to: HookedStore(world.target, isAtomic: isAtomic), journal: world.journal)
    let report = try migration.undo()
    #expect(try report.left.map(\.identifier) == ["b"])
    #expect(!report.isComplete && report.returnedCount == 2)
    #expect(world.contents == [try items(["a": "1", "c": "3"]), try items(["b": "2"])])
    #expect(try world.migration().undo().isComplete)
    #expect(world.contents == [before, [:]])
  }
}
