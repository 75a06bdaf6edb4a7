import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The progress of a migration on terminals of several widths.
@Suite(.onOwnThread, .serialized) struct ProgressLineTests {
  private let tool: Tool
  private let key: KeyFile
  private let source: SealedFileStore

  init() throws {
    tool = try Tool()
    key = try KeyFile.create(at: tool["key"])
    source = try SealedFileStore.create(at: tool["from"], key: key)
  }

  /// Copies all items into a new store, and returns what the terminal has shown.
  private func migrate(
    to target: String, columns: UInt16, environment: [String: String] = [:]
  ) throws -> String {
    _ = try SealedFileStore.create(at: tool[target], key: key)
    let words = [
      Tool.program, "migrate", "--from", "from", "--from-key-file", "key", "--to", target,
      "--to-key-file", "key",
    ]
    let terminal = try PseudoTerminal(tool, words, columns: columns, environment: environment)
    #expect(terminal.end() == 0)
    return terminal.text
  }

  /// Returns the texts that were shown in the line, each of which the next one replaced.
  private func progress(in text: String) -> [String] {
    text.components(separatedBy: "\u{1b}[K").dropLast().compactMap { part in
      part.components(separatedBy: "\r").last.flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  @Test(arguments: [(40, " %, "), (80, "] "), (200, " a second, ")] as [(UInt16, String)])
  func `the line is never longer than the terminal is wide`(
    _ columns: UInt16, _ part: String
  ) throws {
    // Progress is shown after half a second, for which a fast machine needs more items.
    var count = 0
    var lines: [String] = []
    while !lines.contains(where: { $0.contains(part) }), count < 640_000 {
      let newCount = max(40_000, 2 * count)
      try source.apply(
        (count..<newCount).map {
          .put(SecretBytes(utf8: "geheim"), for: try ItemName("\($0)", in: "s"))
        })
      count = newCount
      lines = progress(in: try migrate(to: "to \(count)", columns: columns))
    }
    #expect(lines.allSatisfy { $0.count < columns }, "\(lines)")
    #expect(lines.contains { $0.contains(part) }, "\(lines)")

    let dumb = try migrate(to: "dumb", columns: columns, environment: ["TERM": "dumb"])
    #expect(!dumb.contains("\u{1b}") && !dumb.contains("copying"))
  }
}
