import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport

/// A process of its own that uses a store.
final class StoreProcess: Sendable {
  private let child: Child
  private let directory: TemporaryDirectory
  private let input: ClosedPipe

  /// Starts a command of the worker.
  ///
  /// - Parameters:
  ///   - command: The name of the command.
  ///   - location: Where the store is.
  ///   - key: A key file that opens it.
  ///   - arguments: What the command needs besides.
  /// - Throws: When it cannot be started.
  init(
    _ command: String, _ location: StoreOnServer.Location, _ key: KeyFile, _ arguments: String...
  ) throws {
    directory = try TemporaryDirectory()
    input = try ClosedPipe()
    let path = directory["output"]
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    let output = try FileHandle(forWritingTo: URL(filePath: path))
    let timeout = Int(location.options.operationTimeout / .milliseconds(1))
    child = try Child(
      BuildDirectory.program("SessionToolsDatabaseWorker"),
      [command, location.address, location.options.schema, key.path, "\(timeout)", "30000"]
        + arguments,
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
      input: input.reader.fileDescriptor, output: output.fileDescriptor)
    try input.reader.close()
    try output.close()
  }

  /// What it has reported so far.
  var lines: [Substring] {
    let text = try? String(contentsOfFile: directory["output"], encoding: .utf8)
    return (text ?? "").split(separator: "\n")
  }

  /// Waits until it has reported a line.
  func wait(for line: String) async throws {
    try await SessionToolsTestSupport.wait(until: "the process reports \(line)") {
      guard child.isRunning || lines.contains(Substring(line)) else {
        throw NeverHappened(what: "\(line), only \(lines)")
      }
      return lines.contains(Substring(line))
    }
  }

  func kill() {
    child.kill()
    child.waitUntilExit()
  }

  /// Returns its exit status.
  func status() async throws -> Int32 {
    try await onThread { self.child.waitUntilExit() }
  }

  func closeInput() throws { try input.writer.close() }

  /// Ends its input, and returns what it reported until it ended.
  func finish() async throws -> [Substring] {
    try closeInput()
    _ = try await onThread { self.child.waitUntilExit() }
    return lines
  }
}

extension StoreOnServer {
  /// Sweeps when no other test's transaction keeps the server from knowing that all changes of this
  /// store are over.
  func sweep() async throws -> Int {
    try await wait(until: "older transactions have ended") {
      try await ask(
        "SELECT count(*) FROM $.item WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())") == "0"
    }
    return try store.sweep()
  }

  /// Makes a key file in a directory, and a slot for it.
  func addKeyFile(in directory: TemporaryDirectory) throws -> KeyFile {
    let key = try KeyFile.create(at: directory["key"])
    try store.addSlot(key)
    return key
  }

  /// Puts many small items, each with its number.
  func fill(_ count: Int) throws {
    for start in stride(from: 0, to: count, by: 1000) {
      try store.apply(
        (start..<min(count, start + 1000)).map {
          try .put(SecretBytes(utf8: "value \($0)"), for: ItemName("\($0)", in: "svc"))
        })
    }
  }
}
