import SessionToolsBase
import StoreMigration
import Synchronization
import SessionToolsTestStores
import SessionToolsTestThreads
import Testing

/// Migrations that are cancelled, and go on later.
@Suite(.onOwnThread) struct CancelledMigrationTests {
  @Test func `cancelling stops where the migration can be resumed`() throws {
    let world = try World.large()
    var migration = world.migration()
    migration.isCancelled = { [target = world.target] in !target.names(in: nil).isEmpty }
    #expect(failure { try migration.run() } == "cancelled")
    #expect(world.target.contents.count == 1000)
    #expect(try world.migration().resume().migratedCount == 3000)
    migration.isCancelled = { true }
    #expect(failure { try migration.plan() } == "cancelled")
    #expect(failure { try migration.undo() } == "cancelled")
    #expect(try world.migration().state() == .undoing)
    #expect(try world.migration().undo().leftCount == 0)
    #expect(try world.migration().state() == .undone)
    #expect(world.target.contents.isEmpty)
  }

  @Test(arguments: [.planning, .copying, .verifying, .deleting, .undoing] as [Migration.Phase])
  func `cancelling stops before the next item in every phase`(_ phase: Migration.Phase) throws {
    let world = try World.large()
    let watch = Watch()
    var options = MigrationOptions()
    options.deletesSource = true
    var migration = world.migration(options)
    if phase == .undoing { _ = try migration.run() }
    migration.isCancelled = { watch.isCancelled.load(ordering: .relaxed) }
    let progress: Migration.Progress = { now, done, _, _ in
      guard now == phase else { return }
      watch.last.store(done, ordering: .relaxed)
      if done == 1500 { watch.isCancelled.store(true, ordering: .relaxed) }
    }
    if phase == .undoing {
      #expect(failure { try migration.undo(progress: progress) } == "cancelled")
    } else {
      #expect(failure { try migration.run(progress: progress) } == "cancelled")
    }
    #expect(watch.last.load(ordering: .relaxed) == 1500)
    switch phase {
    // What was read is kept.
    case .copying: #expect(world.target.contents.count == 1500)
    case .undoing: #expect(try migration.state() == .undoing)
    default: break
    }
    watch.isCancelled.store(false, ordering: .relaxed)
    switch phase {
    case .planning: #expect(try migration.run().migratedCount == 3000)
    case .undoing: #expect(try migration.undo().leftCount == 0)
    default: #expect(try migration.resume().migratedCount == 3000)
    }
    #expect(world.source.contents.count == (phase == .undoing ? 3000 : 0))
  }

  @Test func `a cancelled task stops its migration`() async throws {
    let world = try World.large()
    let running = world.migration()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await running.run()
    }
    task.cancel()
    let result = await task.result
    #expect {
      try result.get()
    } throws: { error in
      guard case MigrationError.store(let error) = error else { return false }
      return error.code == .cancelled
    }
    #expect(world.target.contents.isEmpty)
    #expect(try await world.migration().run().migratedCount == 3000)
    #expect(try await world.migration().state() == .finished)
    #expect(try await world.migration().undo().restoredCount == 3000)
    try await world.migration().close()
    #expect(world.journal.contents.isEmpty)
  }
}
