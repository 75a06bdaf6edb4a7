#if GTKScenes
import Foundation
import Synchronization
import SessionToolsTestSupport

/// A program that reports in lines, which are kept, and ends with this object.
final class LineProgram: Sendable {
  private let child: Child
  private let input: FileHandle
  private let said = Mutex<[String]>([])

  init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
    let output: FileHandle
    (child, input, output) = try Child.piped(program, arguments, environment: environment)
    Thread.detachNewThread { [weak self] in
      var unread = Data()
      while case let data = output.availableData, !data.isEmpty {
        unread += data
        let lines = unread.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        unread = lines.last.map { Data($0) } ?? Data()
        self?.said.withLock { said in
          said += lines.dropLast().map { String(decoding: $0, as: UTF8.self) }
        }
      }
    }
  }

  deinit {
    child.kill()
    child.waitUntilExit()
  }

  /// The process's identifier.
  var process: Int32 { child.identifier }

  /// Ends its input, and returns its exit status.
  func end() throws -> Int32 {
    try input.close()
    return child.waitUntilExit()
  }

  /// All lines since the last `forget`.
  var lines: [String] { said.withLock { $0 } }

  func forget() { said.withLock { $0 = [] } }

  func send(_ line: String) throws { try input.write(contentsOf: Data("\(line)\n".utf8)) }

  /// Waits for a line.
  func wait(for line: String) async throws {
    try await SessionToolsTestSupport.wait(until: "it says: \(line)") {
      if lines.contains(line) { return true }
      guard child.isRunning else { throw NeverHappened(what: "\(line): it ended after \(lines)") }
      return false
    }
  }
}
#endif
