import SessionToolsBase
import StoreMigration
import SessionToolsTestThreads
import Testing

/// A journal whose migration is not the one that is to be continued, undone or closed.
@Suite(.onOwnThread) struct OtherMigrationTests {
  private let world: World

  init() throws { world = World(source: try items(["a": "1"]), target: try items(["a": "old"])) }

  private var begun: MigrationOptions {
    var options = MigrationOptions()
    options.selection.service = "mail"
    options.mapping.renames = [.init(service: "mail", newName: "post")]
    options.conflicts = .skip
    return options
  }

  /// Expects that nothing continues, undoes or closes the journal's migration as another one.
  private func expectRefused(
    _ other: Migration, as difference: MigrationError.Difference, _ begun: String, _ given: String
  ) {
    let (contents, journal) = (world.contents, world.journal.contents)
    expectRefusal(difference, begun, given) { _ = try other.resume() }
    expectRefusal(difference, begun, given) { _ = try other.undo() }
    expectRefusal(difference, begun, given) { try other.close() }
    #expect(world.contents == contents && world.journal.contents == journal)
  }

  private func expectRefusal(
    _ difference: MigrationError.Difference, _ begun: String, _ given: String,
    of step: () throws -> Void
  ) {
    do {
      try step()
      Issue.record("it was not refused")
    } catch MigrationError.other(let found, let first, let second) {
      #expect(found == difference && first == begun && second == given)
      let text = MigrationError.other(found, begun: first, given: second).description
      #expect(text.contains("\(begun), not \(given)"))
    } catch {
      Issue.record(error)
    }
  }

  @Test(arguments: [0, 2, 4, .max])
  func `other stores are named and refused`(_ changeCount: Int) throws {
    _ = try? world.migration(begun, Life(changeCount: max(1, changeCount))).run()
    try #require(try world.migration().state() != nil)
    let source = try #require(world.source.identity())
    let target = try #require(world.target.identity())
    expectRefused(
      Migration(from: world.target, to: world.source, journal: world.journal),
      as: .source, source, target)
    let elsewhere = MemoryStore()
    expectRefused(
      Migration(from: world.source, to: elsewhere, journal: world.journal),
      as: .target, target, try #require(elsewhere.identity()))
  }

  @Test func `other options are named and refused, and none are those it was begun with`() throws {
    _ = try world.migration(begun).run()
    var options = begun
    options.selection.identifierPattern = "a*"
    expectRefused(
      world.migration(options), as: .selection, #"service "mail""#,
      #"service "mail", identifier "a*""#)
    options = begun
    options.mapping.install = .drop
    expectRefused(
      world.migration(options), as: .mapping, #"service "mail" as "post""#,
      #"service "mail" as "post", no installation"#)
    options = begun
    options.conflicts = .overwrite
    expectRefused(world.migration(options), as: .conflicts, "skip", "overwrite")
    expectRefused(
      world.migration(transform: { ($0, $1) }), as: .transform, "none", "a transform")
    #expect(try world.migration(begun).resume().isComplete)
    #expect(try world.migration().undo().isComplete)
    try world.migration(begun).close()
    #expect(world.journal.contents.isEmpty)
  }

  @Test func `a report does not list the items of another migration in the same journal`() throws {
    let first = try world.migration(begun).run()
    let undone = try world.migration().undo()
    #expect(try first.entries.count == 1)
    try world.migration().close()
    world.source.apply([.put(SecretBytes(utf8: "2"), for: try name("b"))])
    let second = try world.migration(begun).run()
    #expect(try second.entries.count == 2)
    #expect(failure { try first.entries } == "nothing begun")
    #expect(failure { try undone.left } == "nothing begun")
  }

  @Test func `a journal that cannot be read is closed by any migration`() throws {
    _ = try world.migration(begun).run()
    let header = try #require(world.journal.contents.keys.first { $0.identifier == "header" })
    world.journal.apply([.put(SecretBytes(utf8: "damage"), for: header)])
    #expect(failure { try world.migration().undo() } == "corrupt")
    try Migration(from: MemoryStore(), to: MemoryStore(), journal: world.journal).close()
    #expect(world.journal.contents.isEmpty)
  }
}
