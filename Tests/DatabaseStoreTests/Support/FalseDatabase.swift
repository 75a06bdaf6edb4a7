import Foundation
import SessionToolsTestSupport

/// A server in the place of a database, or before it; its `server.py` says what it does.
final class FalseDatabase: Sendable {
  /// A user who is neither root, nor `postgres`, nor one of this machine's people.
  static let stranger = 65534
  /// What this machine calls that user.
  static let strangerName =
    unsafe getpwuid(UInt32(stranger)).map {
      unsafe String(cString: $0.pointee.pw_name)
    } ?? "\(stranger)"

  let port: UInt16
  /// The directory of its socket, which anyone may write to; `nil` when it has a port.
  let directory: TemporaryDirectory?
  private let child: Child
  private let files: TemporaryDirectory

  /// Starts it.
  ///
  /// - Parameters:
  ///   - manner: What it does.
  ///   - place: `tcp`, `tcp6`, or `socket`.
  ///   - user: The user that it runs as, if it is not the one of the tests, who has to be root.
  /// - Throws: When it does not start.
  convenience init(_ manner: String, at place: String = "tcp", as user: Int? = nil) async throws {
    let directory = place == "socket" ? try TemporaryDirectory() : nil
    if let directory {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o1777], ofItemAtPath: directory.path)
    }
    try await self.init(
      program: "FalseDatabase", [directory?.path ?? place, manner], in: directory, as: user)
  }

  /// Starts one of the programs among the tests' services.
  init(
    program: String, _ arguments: [String], in directory: TemporaryDirectory? = nil,
    as user: Int? = nil
  ) async throws {
    self.directory = directory
    files = try TemporaryDirectory()
    let log = files["log"]
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    let output = try FileHandle(forWritingTo: URL(filePath: log))
    // Passed as text, because the other user may not be able to read the sources.
    let text = try String(
      contentsOfFile: "\(SourceDirectory.path)/Tests/Services/\(program)/server.py",
      encoding: .utf8)
    let switching =
      user.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
    let command = switching + ["/usr/bin/python3", "-c", text] + arguments
    let child = try Child(
      command[0], Array(command.dropFirst()), environment: ["PYTHONDONTWRITEBYTECODE": "1"],
      output: output.fileDescriptor)
    self.child = child
    try output.close()
    try await wait(until: "the server listens") {
      guard child.isRunning else { throw NeverHappened(what: "the server starts") }
      return !Self.lines(of: log).isEmpty
    }
    port = Self.lines(of: log).first.flatMap { UInt16($0) } ?? 0
  }

  deinit {
    child.kill()
    child.waitUntilExit()
  }

  private static func lines(of log: String) -> [Substring] {
    let text = try? String(contentsOfFile: log, encoding: .utf8)
    return (text ?? "").split(separator: "\n")
  }

  /// Its address, in which `more` may say who is to run it.
  func address(_ more: String = "") -> String {
    "host=\(directory?.path ?? "127.0.0.1") port=\(port) user=app dbname=postgres \(more)"
  }

  var connectionCount: Int { Self.lines(of: files["log"]).count { $0 == "connection" } }

  /// How often it was answered when it asked for the password.
  var answers: [Substring] { Self.lines(of: files["log"]).filter { $0.hasPrefix("answer: ") } }
}
