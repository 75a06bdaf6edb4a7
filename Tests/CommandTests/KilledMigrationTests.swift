import Foundation
import SealedStore
import SessionToolsBase
import TestSupport
import Testing

/// `session-tools migrate --delete-source`, killed at any moment.
@Suite struct KilledMigrationTests {
  private static let roundCount = TestSize.choose(small: 30, medium: 300, large: 3000)
  private static let itemCount = 30

  private let tool: Tool
  private let arguments: [String]

  init() throws {
    tool = try Tool()
    arguments = [
      "migrate", "--from", tool["from"], "--from-key-file", tool["key"], "--to", tool["to"],
      "--to-key-file", tool["key"],
    ]
    let key = try KeyFile.create(at: tool["key"])
    let (from, to) = (
      try SealedFileStore.create(at: tool["template from"], key: key),
      try SealedFileStore.create(at: tool["template to"], key: key)
    )
    for number in 0..<Self.itemCount {
      let item = try StoreKey("item \(number)", in: "mail")
      try from.put(SecretBytes(utf8: "value \(number)"), for: item)
      if number < 5 { try to.put(SecretBytes(utf8: "other"), for: item) }
    }
  }

  /// Puts both stores back to what they were before the migration.
  private func startAnew() throws {
    let files = FileManager.default
    for name in ["from", "to", "to.migration"] where files.fileExists(atPath: tool[name]) {
      try files.removeItem(atPath: tool[name])
    }
    for name in ["from", "to"] {
      try files.copyItem(atPath: tool["template \(name)"], toPath: tool[name])
    }
  }

  private func contents(of store: String) throws -> [StoreKey: SecretBytes] {
    let store = try SealedFileStore.open(at: tool[store], key: KeyFile(tool["key"]))
    var contents: [StoreKey: SecretBytes] = [:]
    for key in try store.keys(in: nil) { contents[key] = try store.value(for: key) }
    return contents
  }

  private func run(_ more: String...) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: Tool.program)
    process.arguments = arguments + more
    process.environment = tool.environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  private func begin() throws -> Process {
    try run("--on-conflict", "overwrite", "--delete-source")
  }

  private func status(_ process: Process) -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }

  @Test func `what was killed is finished or taken back, and nothing is in neither store`() throws {
    try startAnew()
    let (from, to) = (try contents(of: "from"), try contents(of: "to"))
    // The shortest of some: other tests may be at work beside the first.
    var time = Duration.seconds(60)
    for _ in 0..<3 {
      try startAnew()
      let start = ContinuousClock.now
      #expect(try status(begin()) == 0)
      time = min(time, ContinuousClock.now - start)
    }
    let result = try contents(of: "to")
    #expect(try contents(of: "from").isEmpty)
    #expect(result.count == Self.itemCount)
    var begunCount = 0
    for round in 0..<Self.roundCount {
      try startAnew()
      let process = try begin()
      let delay = Double.random(in: 0...1.2) * (time / .seconds(1))
      Thread.sleep(forTimeInterval: delay)
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()

      let (source, target) = (try contents(of: "from"), try contents(of: "to"))
      for (key, value) in from { #expect(source[key] == value || target[key] == value) }
      if round.isMultiple(of: 2) {
        let resumed = try status(run("--resume"))
        // 4: it was killed before anything was begun.
        #expect([0, 4].contains(resumed))
        if resumed == 0 { begunCount += 1 } else { #expect(try status(begin()) == 0) }
        #expect(try contents(of: "from").isEmpty)
        #expect(try contents(of: "to") == result)
      } else {
        #expect(try [0, 4].contains(status(run("--undo"))))
        #expect(try contents(of: "from") == from)
        #expect(try contents(of: "to") == to)
      }
      #expect(try [0, 4].contains(status(run("--close"))))
    }
    // Else the moments were badly chosen.
    #expect(begunCount > Self.roundCount / 20)
    #expect(
      Set(try FileManager.default.contentsOfDirectory(atPath: tool.path)).isSubset(
        of: ["from", "home", "key", "template from", "template to", "to"]))
  }
}
