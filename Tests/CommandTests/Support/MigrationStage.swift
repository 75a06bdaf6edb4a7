import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// The tool and two sealed stores, the second of which has other values for some items.
struct MigrationStage {
  let tool: Tool
  /// `migrate` with both stores and their key.
  let arguments: [String]
  let itemCount: Int

  init(itemCount: Int) throws {
    self.itemCount = itemCount
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
    for number in 0..<itemCount {
      let item = try ItemName("item \(number)", in: "mail")
      try from.put(SecretBytes(utf8: "value \(number)"), for: item)
      if number < itemCount / 6 { try to.put(SecretBytes(utf8: "other"), for: item) }
    }
  }

  /// Restores both stores as they were before the migration.
  func startAnew() throws {
    let files = FileManager.default
    for name in ["from", "to", "to.migration"] where files.fileExists(atPath: tool[name]) {
      try files.removeItem(atPath: tool[name])
    }
    for name in ["from", "to"] {
      try files.copyItem(atPath: tool["template \(name)"], toPath: tool[name])
    }
  }

  func contents(of store: String) throws -> [ItemName: SecretBytes] {
    let store = try SealedFileStore.open(at: tool[store], key: KeyFile(tool["key"]))
    var contents: [ItemName: SecretBytes] = [:]
    for name in try store.names(in: nil) { contents[name] = try store.value(for: name) }
    return contents
  }

  /// Starts the tool, under another program if one is given.
  func start(under words: [String] = [], _ more: String...) throws -> Child {
    try Child(
      "/usr/bin/env", words + [Tool.program] + arguments + more, environment: tool.environment)
  }

  /// Starts to move all items.
  func begin(under words: [String] = []) throws -> Child {
    try start(under: words, "--on-conflict", "overwrite", "--delete-source")
  }

  func run(_ mode: String) throws -> Int32 { try start(mode).waitUntilExit() }

  /// Expects every item in at least one of the stores.
  func expectNothingLost(_ before: [ItemName: SecretBytes], _ comment: Comment) throws {
    let (source, target) = (try contents(of: "from"), try contents(of: "to"))
    for (name, value) in before {
      #expect(source[name] == value || target[name] == value, comment)
    }
  }
}
