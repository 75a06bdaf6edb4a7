import Foundation
import SessionToolsTestSupport

/// The article about other programs, whose examples are tried.
enum OtherProgramsArticle {
  /// The entire article.
  static var text: String {
    get throws { try Article("OtherPrograms").text }
  }

  /// Returns the content of a file as the article shows it, with this build's tool in it.
  static func file(_ path: String) throws -> String { try Article("OtherPrograms").file(path) }

  /// Writes a file as the article shows it into a tool's home directory.
  static func write(_ path: String, for tool: Tool) throws {
    let place = tool["home/\(path.dropFirst("~/".count))"]
    try FileManager.default.createDirectory(
      atPath: URL(filePath: place).deletingLastPathComponent().path,
      withIntermediateDirectories: true)
    try file(path).write(toFile: place, atomically: false, encoding: .utf8)
  }
}

extension Tool {
  /// Runs a line beside a server that wants a password; its port is `$port`.
  ///
  /// - Parameters:
  ///   - directory: The directory that it serves.
  ///   - line: The line.
  ///   - environment: Variables in addition to the tool's.
  /// - Returns: What it printed, and its status.
  /// - Throws: An error if it cannot be started.
  func run(besideServerOf directory: String, _ line: String, environment: [String: String] = [:])
    throws -> Outcome
  {
    // The pipe is read when the server has written its port. The server is killed, because it
    // inherits from the test's thread that signals are blocked.
    try run(
      """
      mkfifo port && mkdir -p '\(directory)' || exit
      /usr/bin/python3 '\(SourceDirectory.path)/Tests/Services/PasswordServer/server.py' \
        '\(directory)' > port &
      trap "kill -KILL $!" EXIT
      read -r port < port
      \(line)
      """, environment: environment)
  }
}
