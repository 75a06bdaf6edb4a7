import Foundation
import SessionToolsTestSupport

/// A server's program with all its processes, which end with this object, or with the tests.
package final class KeptProgram: Sendable {
  private let child: Child
  /// The program ends when this is closed, at the latest with this process.
  private let input: ClosedPipe

  /// The user that servers run as, since they refuse to run as root; `nil` for the tests' own.
  package static let user: String? = geteuid() == 0 ? "postgres" : nil

  /// Starts a program in a directory that is removed with it.
  package init(_ program: String, _ arguments: [String], in directory: String) throws {
    input = try ClosedPipe()
    child = try Child(
      "/usr/bin/python3",
      [
        "\(SourceDirectory.path)/Tests/Services/DatabaseServer/keep.py", Self.user ?? "", directory,
        program,
      ] + arguments,
      environment: [
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
      ],
      input: input.reader.fileDescriptor)
    try input.reader.close()
  }

  deinit {
    end()
  }

  package var isRunning: Bool { child.isRunning }

  /// Ends the program, and removes its directory.
  package func end() {
    try? input.writer.close()
    child.waitUntilExit()
  }

  /// Waits until the program has ended by itself, and its processes with it.
  package func waitUntilExit() { child.waitUntilExit() }

  /// Runs another program as the same user until it exits.
  @discardableResult
  package static func run(_ program: String, _ arguments: [String]) async throws -> String {
    let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
    guard let user else {
      return try await Program.run(program, arguments, environment: environment)
    }
    return try await Program.run(
      "/usr/bin/setpriv",
      ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", program]
        + arguments, environment: environment)
  }

  /// Makes a directory for a server, which its user owns.
  package static func makeDirectory() throws -> String {
    // `TMPDIR` may be in a directory that only the tests' own user can enter.
    let place = user == nil ? TemporaryDirectory.place : "/tmp"
    var template = Array("\(place)/session-tools-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe buffer.baseAddress.flatMap { unsafe mkdtemp($0) }.map { unsafe String(cString: $0) }
    }
    guard let made else { throw CocoaError(.fileWriteUnknown) }
    if let user {
      try FileManager.default.setAttributes(
        [.ownerAccountName: user, .groupOwnerAccountName: user], ofItemAtPath: made)
    }
    return URL(filePath: made).resolvingSymlinksInPath().path
  }
}
