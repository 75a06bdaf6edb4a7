import Foundation
import SealedStore
import SessionToolsBase
import StoreMigration
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Every system call of a migration between sealed stores fails once.
@Suite(.onOwnThread) struct FailingCallTests {
  private let directory: TemporaryDirectory
  private let key: KeyFile
  private let before: [Contents]

  init() throws {
    directory = try TemporaryDirectory()
    key = try KeyFile.create(at: directory["key"])
    before = [
      try items(["a": "1", "b": "same", "c": "3"]), try items(["a": "old", "b": "same", "z": "z"]),
      [:],
    ]
    for (name, contents) in zip(["from", "to", "journal"], before) {
      try SealedFileStore.create(at: directory["template/\(name)", make: "template"], key: key)
        .apply(contents.map { .put($0.value, for: $0.key) })
    }
  }

  private func migration(
    _ round: Int, on disk: any FileSystem = LinuxFileSystem()
  ) throws -> (Migration, [SealedFileStore]) {
    var options = MigrationOptions()
    options.conflicts = .overwrite
    options.deletesSource = true
    let stores = try ["from", "to", "journal"].map { name in
      try SealedFileStore.open(
        at: directory["\(round)/\(name)"], key: key,
        environment: StoreEnvironment(fileSystem: disk))
    }
    let migration = Migration(
      from: stores[0], to: stores[1], journal: stores[2], options: options)
    return (migration, stores)
  }

  private func contents(_ stores: [SealedFileStore]) throws -> [Contents] {
    try stores.map { store in
      var contents: Contents = [:]
      for name in try store.names(in: nil) { contents[name] = try store.value(for: name) }
      return contents
    }
  }

  /// Runs a closure again and again, with another system call failing each time, and checks the
  /// stores after each run.
  private func failEach(
    _ prepare: (Migration) throws -> Void = { _ in }, _ run: (Migration) throws -> Void,
    then check: (Migration, _ contents: [Contents], Comment) throws -> Void
  ) throws -> Int {
    var number = 1
    while true {
      try FileManager.default.copyItem(
        atPath: directory["template"], toPath: directory["\(number)"])
      try prepare(migration(number).0)
      let disk = FaultyFileSystem { [number] in $0.number == number ? .fail(EIO) : nil }
      // The error is one of the stores', or wraps one.
      let failed = failure { try run(migration(number, on: disk).0) }
      #expect([nil, "io", "outcomeUnknown"].contains(failed ?? nil), "call \(number)")
      #expect(disk.lockCount == 0 && disk.openNames == [], "call \(number)")
      let (again, stores) = try migration(number)
      try check(again, contents(stores), "call \(number)")
      try FileManager.default.removeItem(atPath: directory["\(number)"])
      guard disk.calls.count >= number else { return number }
      number += 1
    }
  }

  @Test func `a migration in which a call fails is resumed, or was not begun`() throws {
    let after = try items(["a": "1", "b": "same", "c": "3", "z": "z"])
    let count = try failEach { migration in
      _ = try migration.run()
    } then: { migration, contents, call in
      for (name, value) in before[0] {
        #expect(contents[0][name] == value || contents[1][name] == value, call)
      }
      let isBegun = try migration.state() != nil
      #expect(isBegun || (contents[0] == before[0] && contents[1] == before[1]), call)
      let report = try isBegun ? migration.resume() : migration.run()
      #expect(report.isComplete && report.migratedCount == 3, call)
      try #expect(
        self.contents([store(migration.source), store(migration.target)]) == [[:], after])
      try migration.close()
    }
    #expect(count > 100)
  }

  @Test func `an undo in which a call fails is finished by the next`() throws {
    let count = try failEach {
      _ = try $0.run()
    } _: { migration in
      _ = try migration.undo()
    } then: { migration, contents, call in
      for (name, value) in before[0] {
        #expect(contents[0][name] == value || contents[1][name] == value, call)
      }
      #expect(try migration.undo().leftCount == 0, call)
      try #expect(
        self.contents([store(migration.source), store(migration.target)]) == [before[0], before[1]])
    }
    #expect(count > 50)
  }

  private func store(_ store: any SecretStore) throws -> SealedFileStore {
    try #require(store as? SealedFileStore)
  }
}

extension TemporaryDirectory {
  /// Returns a path, after creating a directory in it if necessary.
  fileprivate subscript(path: String, make directory: String) -> String {
    try? FileManager.default.createDirectory(
      atPath: self[directory], withIntermediateDirectories: true)
    return self[path]
  }
}
