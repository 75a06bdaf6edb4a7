import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The article about backups, whose commands are run as its reader would run them.
@Suite(.onOwnThread) struct BackupArticleTests {
  private static let article = ReadmeTests.file(
    "Sources/SessionTools/SessionTools.docc/BackupAndRestore.md")

  /// A command, and the lines that it prints.
  private struct Step {
    let command: String
    let expected: String
  }

  /// The commands of the whole article.
  ///
  /// A line that begins with two spaces is the rest of the line before it.
  private static let steps: [Step] = ReadmeTests.blocks("console", in: article).flatMap { block in
    "\n\(block)".replacingOccurrences(of: "\n  ", with: " ").components(separatedBy: "\n$ ")
      .dropFirst().map { text in
        let lines = text.components(separatedBy: "\n")
        return Step(
          command: lines[0], expected: lines.dropFirst().joined(separator: "\n"))
      }
  }

  /// What happens to the store before the command that prints a text; the article has no commands
  /// for it.
  private static let accidents = [
    // The newest of 21 records, in the middle of its value.
    "newest value lost": """
    for n in $(seq 19); do printf v | session-tools set vault --service web "site $n"; done
    printf new | session-tools set vault --service mail token
    /usr/bin/python3 -c 'import pathlib
    journal = pathlib.Path("vault/journal")
    bytes = bytearray(journal.read_bytes())
    bytes[len(bytes.rstrip(b"\\0")) - 20] ^= 1
    journal.write_bytes(bytes)'
    """,
    "there is no key file where": "rm ~/.local/share/session-tools/keys/*",
  ]

  @Test func `every command in the article prints what the article shows`() throws {
    let tool = try Tool()
    let environment = [
      "TOKEN": "s3cret", "XDG_DATA_HOME": tool["home/.local/share"],
    ]
    let prepared = try tool.run(
      "umask 077; echo 'a long passphrase' > ~/passphrase", environment: environment)
    try #require(prepared.status == 0)
    #expect(Self.steps.count >= 15)
    var seen: Set<String> = []
    for step in Self.steps {
      for (text, accident) in Self.accidents where step.expected.contains(text) {
        seen.insert(text)
        let outcome = try tool.run("cd && \(accident)", environment: environment)
        try #require(outcome.status == 0, "\(outcome.complaint)")
      }
      let outcome = try tool.run("cd && \(step.command)", environment: environment)
      let printed = (outcome.text + outcome.complaint).trimmingCharacters(in: .newlines)
        .replacingOccurrences(of: tool["home"], with: "/home/ada")
      #expect(
        ConsoleBlock.normalized(printed) == ConsoleBlock.normalized(step.expected),
        "\(step.command)")
    }
    #expect(seen.count == Self.accidents.count)
  }
}
