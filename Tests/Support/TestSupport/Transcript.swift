import Foundation

/// Command lines with their output.
///
/// ```
/// # What this shows.
/// $ session-tools get store --service mail token
/// | a line on standard output
/// |- the last line, without a newline behind it
/// ! a line on standard error
/// = 3
/// ```
///
/// Lines are run by bash, one after the other in one directory. The status is left out when
/// it is 0. Run the tests with `UPDATE_TRANSCRIPTS=1` to write the current output into the files,
/// and review the difference.
package struct Transcript: CustomStringConvertible, Sendable {
  private let url: URL
  package let lines: [String]

  /// Returns the transcripts of a test target.
  package static func all(of target: String) -> [Transcript] {
    let directory = URL(filePath: SourceDirectory.path)
      .appending(path: "Tests/\(target)/Transcripts")
    let files = try? FileManager.default.contentsOfDirectory(
      at: directory, includingPropertiesForKeys: nil)
    return (files ?? []).filter { $0.pathExtension == "txt" }
      .sorted { $0.path < $1.path }
      .compactMap { url in (try? String(contentsOf: url, encoding: .utf8)).map { (url, $0) } }
      .map { url, text in
        Transcript(
          url: url,
          lines: text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
      }
  }

  package var description: String { url.deletingPathExtension().lastPathComponent }

  /// Returns the transcript with the current output of every command.
  ///
  /// - Parameters:
  ///   - tool: The tool that runs the commands.
  ///   - environment: Variables that are added to the tool's environment.
  ///   - names: What else differs from run to run, as regular expressions, each with its name.
  /// - Returns: The lines.
  /// - Throws: An error if a command cannot be run.
  package func replayed(
    by tool: Tool, environment: [String: String] = [:], naming names: [(String, String)] = []
  ) throws -> [String] {
    var replayed: [String] = []
    for line in lines {
      if ["| ", "|-", "! ", "= "].contains(where: line.hasPrefix) || line == "|" || line == "!" {
        continue
      }
      replayed.append(line)
      guard line.hasPrefix("$ ") else { continue }
      replayed += Self.answer(
        of:
          try tool.run(String(line.dropFirst(2)), environment: environment), in: tool, names)
    }
    return replayed
  }

  /// Whether the current output is written into the files, and not compared with them.
  package static var isBeingUpdated: Bool {
    ProcessInfo.processInfo.environment["UPDATE_TRANSCRIPTS"] != nil
  }

  /// Replaces the file's lines.
  package func replace(with lines: [String]) throws {
    try lines.joined(separator: "\n").write(to: url, atomically: true, encoding: .utf8)
  }

  private static func answer(
    of outcome: Tool.Outcome, in tool: Tool, _ names: [(String, String)]
  ) -> [String] {
    var lines = marked(normalized(outcome.text, tool, names), "|")
    lines += marked(normalized(outcome.complaint, tool, names), "!")
    if outcome.status != 0 { lines.append("= \(outcome.status)") }
    return lines
  }

  private static func marked(_ text: String, _ mark: String) -> [String] {
    guard !text.isEmpty else { return [] }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let last = lines.removeLast()
    return lines.map { $0.isEmpty ? mark : "\(mark) \($0)" }
      + (last.isEmpty ? [] : ["\(mark)- \(last)"])
  }

  /// Replaces the parts that differ from run to run by names.
  private static func normalized(
    _ text: String, _ tool: Tool, _ names: [(String, String)]
  ) -> String {
    var text = text.replacingOccurrences(of: tool.path, with: "[DIR]")
    for (pattern, name) in [
      ("[0-9a-f]{32}", "[ID]"), ("st-store-[A-Za-z0-9_-]{27}", "[FINGERPRINT]"),
      ("session-tools-demo-[0-9A-F]{8}", "[DEMO]"),
      ("process [0-9]+", "process [PID]"),
      ("\"changed\":\"[^\"]+\"", "\"changed\":\"[TIME]\""),
    ] + names {
      text = text.replacingOccurrences(of: pattern, with: name, options: .regularExpression)
    }
    return text
  }
}
