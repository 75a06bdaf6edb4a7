import Foundation
import SessionToolsTestSupport
import Testing

/// Each command that the doctor shows repairs what it is shown for: it is run in the state in which
/// it is shown, and the doctor is asked again.
@Suite struct RemedyTests {
  struct State: CustomTestStringConvertible, Sendable {
    /// The finding, or a part of it.
    let finding: String
    /// Makes the state in the file system, from a sound store.
    var files = ":"
    /// Makes the part of the state that ends with the shell.
    var shell = ":"

    var testDescription: String { finding }
  }

  static let states = [
    State(finding: "others may read or write it (mode 0750)", files: "chmod 750 store"),
    State(finding: "others may read or write it (mode 0640)", files: "chmod 640 store/journal"),
    State(finding: "it has 2 hard links", files: "ln store/header elsewhere"),
    State(
      finding: "this is a symbolic link",
      files: "mv store/header elsewhere; ln -s ../elsewhere store/header"),
    State(finding: "another store can be put in its place", files: "chmod 777 ."),
    State(finding: "it belongs to another user", files: "chown -R 12345 store"),
    State(
      finding: "the newest value of",
      files: "printf damaged- | dd of=store/journal conv=notrunc bs=8 seek=25"),
    State(
      finding: "the header is damaged",
      files: "printf damaged- | dd of=store/header conv=notrunc bs=8 seek=5"),
    State(
      finding: "in use",
      files: """
        for size in 3000000 1900000 1; do
          head -c $size /dev/zero |
            session-tools set store --service mail big$((size > 2000000)) --key-file key
        done
        """),
    State(
      finding: "keys may reach swap",
      shell:
        "ulimit -S -l 0; session-tools() { setpriv --bounding-set -ipc_lock session-tools \"$@\"; }"
    ),
    State(finding: "may dump its keys", shell: "ulimit -c unlimited"),
    State(finding: "redirects other programs", shell: "export SECRET_BACKEND=file"),
  ]

  @Test(arguments: states)
  func `the doctor's command repairs what it is shown for`(_ state: State) throws {
    let tool = try Tool()
    try tool.run(
      "session-tools init store --key-file key; for i in 1 2 3; do "
        + "printf v | session-tools set store --service mail $i --key-file key; done")
    try tool.run(state.files)
    let shown = try checks(of: tool, after: state.shell).filter { $0.shows(state) }
    let remedy = try #require(shown.compactMap(\.remedy).first)
    // One of several ways: the one that begins with the word, or the first.
    let way = remedy.components(separatedBy: "un ").last ?? remedy
    let command = remedy.contains("un ") ? way : remedy.components(separatedBy: ", or ")[0]
    let repaired = try checks(of: tool, after: "\(state.shell); \(command) > /dev/null 2>&1")
    #expect(!repaired.contains { $0.shows(state) }, "\(command)")
  }

  private struct Check: Decodable {
    let name: String
    let finding: String
    let remedy: String?
    let status: String

    func shows(_ state: State) -> Bool { status != "ok" && finding.contains(state.finding) }
  }

  private struct Report: Decodable {
    let checks: [Check]
  }

  /// The checks of the store, and of the machine.
  private func checks(of tool: Tool, after line: String) throws -> [Check] {
    let outcome = try tool.run(
      "\(line); for of in 'store --key-file key' ''; do session-tools doctor $of --json; done")
    return try outcome.text.split(separator: "\n").flatMap { line in
      try JSONDecoder().decode(Report.self, from: Data(line.utf8)).checks
    }
  }
}
