import Foundation

/// The built `session-tools`, in a directory and an environment of its own.
package final class Tool: Sendable {
  package typealias Outcome = Program.Outcome

  /// The program of this build.
  package static let program = BuildDirectory.program("session-tools")

  private let directory: TemporaryDirectory

  /// The directory in which the tool runs; it is removed with this object.
  package var path: String { directory.path }

  package init() throws {
    directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(
      atPath: directory["home"], withIntermediateDirectories: false)
  }

  /// The tool's environment: nothing from that of the tests, except for a sanitizer's options.
  package var environment: [String: String] {
    let sanitizers = ProcessInfo.processInfo.environment.filter { name, _ in
      ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains(name)
    }
    return sanitizers.merging([
      "PATH": "\(BuildDirectory.path):/usr/bin:/bin",
      "HOME": "\(path)/home", "XDG_DATA_HOME": "\(path)/data", "LC_ALL": "C.UTF-8", "TERM": "xterm",
    ]) { $1 }
  }

  /// A path in the directory.
  package subscript(name: String) -> String { directory[name] }

  /// Runs a line of bash in a session without a terminal.
  @discardableResult
  package func run(_ line: String, environment extra: [String: String] = [:]) throws -> Outcome {
    try Program.outcome(
      of: ["setsid", "--wait", "/bin/bash", "-o", "pipefail", "-c", line], in: path,
      environment: environment.merging(extra) { $1 })
  }
}
