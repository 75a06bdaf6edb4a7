import SessionToolsDatabaseServer
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// `session-tools migrate`, killed at any moment.
@Suite(.onOwnThread) struct DatabaseMigrationTests {
  private static let itemCount = TestSize.choose(small: 200, medium: 1000, large: 1_000_000)
  private static let killCount = TestSize.choose(small: 2, medium: 4, large: 8)

  private let stage: DatabaseTool
  private let key: KeyFile

  init() async throws {
    stage = try await DatabaseTool(
      on: DatabaseServer.shared(), database: "migration-\(UUID().uuidString)")
    key = try KeyFile.create(at: stage.tool["key"])
  }

  /// Makes a store in a directory.
  private func makeStore(_ name: String, itemCount: Int) throws {
    let store = try SealedFileStore.create(at: stage.tool[name], key: key)
    for start in stride(from: 0, to: itemCount, by: 1000) {
      try store.apply(
        (start..<min(start + 1000, itemCount)).map { number in
          .put(
            SecretBytes(utf8: String(repeating: "value \(number) ", count: number % 30)),
            for: try ItemName(
              "item \(number)", in: StoreNamespace(service: "service \(number % 100)")))
        })
    }
  }

  private func contents(of name: String) throws -> [ItemName: SecretBytes] {
    let store = try SealedFileStore.open(at: stage.tool[name], key: key)
    var contents: [ItemName: SecretBytes] = [:]
    for name in try store.names(in: nil) { contents[name] = try store.value(for: name) }
    return contents
  }

  /// The most memory that a program had which this process has started, in bytes.
  private func peakOfPrograms() throws -> Int {
    var usage = rusage()
    try #require(unsafe getrusage(RUSAGE_CHILDREN.rawValue, &usage) == 0)
    return Int(usage.ru_maxrss) << 10
  }

  private func start(_ words: [String]) throws -> Child {
    try Child(
      DatabaseTool.program, ["migrate"] + words,
      environment: stage.tool.environment)
  }

  /// Migrates, and kills the tool several times, at least once after the migration had begun.
  private func migrate(_ words: [String], journal: String) throws {
    let files = FileManager.default
    var (killCount, hasBegun) = (0, false)
    // About a third of the time that a migration takes on a busy machine.
    var maximumPause = 500_000 + 100 * UInt32(Self.itemCount)
    while true {
      let child = try start(words + (hasBegun ? ["--resume"] : []))
      if killCount < Self.killCount {
        try blockingWait(until: "the journal is there") {
          !child.isRunning || files.fileExists(atPath: stage.tool[journal])
        }
        usleep(UInt32.random(in: 0..<maximumPause))
        child.kill()
      }
      let status = child.waitUntilExit()
      if status == 0 {
        guard killCount == 0 else { break }
        // It was over before it could be killed.
        for mode in ["--undo", "--close"] {
          #expect(try start(words + [mode]).waitUntilExit() == 0)
        }
        maximumPause = max(maximumPause / 2, 1000)
        continue
      }
      let wasKilled = status == -SIGKILL
      // 4: it was killed before the journal had a migration.
      #expect(wasKilled || hasBegun && status == 4, "it ended with \(status)")
      hasBegun = wasKilled && files.fileExists(atPath: stage.tool[journal])
      if hasBegun { killCount += 1 }
    }
    #expect(try start(words + ["--close"]).waitUntilExit() == 0)
  }

  @Test func `items that move to a database and back are the same, wherever it is killed`()
    async throws
  {
    let address = stage.address(user: "postgres")
    try makeStore("from", itemCount: Self.itemCount)
    try makeStore("back", itemCount: 0)
    let keyFile = stage.tool["key"]
    let made = try stage.tool.run(
      "session-tools init '\(address)' --schema migration --key-file key")
    try #require(made.status == 0, "\(made.complaint)")
    let there = [
      "--from", stage.tool["from"], "--from-key-file", keyFile, "--to", address, "--to-key-file",
      keyFile, "--to-schema", "migration",
    ]
    let back = [
      "--from", address, "--from-key-file", keyFile, "--to", stage.tool["back"], "--to-key-file",
      keyFile, "--from-schema", "migration",
    ]
    try migrate(there, journal: "from.migration")
    try migrate(back, journal: "back.migration")
    // Of all programs that this process has started: smaller tests run beside others.
    if TestSize.current == .large {
      #expect(try peakOfPrograms() < 100 * Self.itemCount + (150 << 20))
    }
    #expect(try contents(of: "back") == contents(of: "from"))
  }
}
