package import Foundation

/// The built `session-tools`, in a directory and an environment of its own.
package final class Tool: Sendable {
  /// The outcome of one command line.
  package struct Outcome {
    package let output: Data
    package let complaint: String
    package let status: Int32

    package var text: String { String(decoding: output, as: UTF8.self) }
  }

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
    // Files, because a pipe that is not read yet would block the writer.
    let captured = try TemporaryDirectory()
    let files = try ["output", "complaint"].map { name in
      _ = FileManager.default.createFile(atPath: captured[name], contents: nil)
      return try FileHandle(forWritingTo: URL(filePath: captured[name]))
    }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/setsid")
    process.arguments = ["--wait", "/bin/bash", "-o", "pipefail", "-c", line]
    process.currentDirectoryURL = URL(filePath: path)
    process.environment = environment.merging(extra) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = files[0]
    process.standardError = files[1]
    try process.run()
    process.waitUntilExit()
    return Outcome(
      output: try Data(contentsOf: URL(filePath: captured["output"])),
      complaint: String(
        decoding: try Data(contentsOf: URL(filePath: captured["complaint"])), as: UTF8.self),
      status: process.terminationStatus)
  }
}
