import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// A `StoreWorker` process.
///
/// Its lines are read as they arrive; it ends with the test at the latest.
final class Worker {
  private let child: Child
  private let output: FileHandle
  private let input: FileHandle
  private var unread = Data()

  /// The path of the built helper, next to the tests.
  static let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appending(path: "SessionToolsStoreWorker")

  convenience init(_ arguments: String..., under prefix: [String] = []) throws {
    try self.init(arguments: arguments, under: prefix)
  }

  init(arguments: [String], under prefix: [String] = []) throws {
    let command = prefix + [Self.executable.path] + arguments
    (child, input, output) = try Child.piped("/usr/bin/env", command, errors: STDERR_FILENO)
  }

  var identifier: Int32 { child.identifier }

  /// Returns the next line, or `nil` if there are no more.
  func line() -> String? {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        defer { unread = Data(unread[(end + 1)...]) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      let more = output.availableData
      if more.isEmpty { return nil }
      unread += more
    }
  }

  /// Returns all remaining lines.
  func lines() -> [String] {
    var lines: [String] = []
    while let line = line() { lines.append(line) }
    return lines
  }

  /// Returns the lines that arrive within a time; later lines are left for the next call.
  func lines(for duration: Duration) -> [String] {
    let end = ContinuousClock.now + duration
    var descriptor = pollfd(
      fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
    while true {
      let rest = end - .now
      guard rest > .zero else { break }
      // This waits for whole milliseconds; for less than one it polls without a pause.
      guard unsafe poll(&descriptor, 1, Int32(rest / .milliseconds(1))) > 0 else { continue }
      let more = output.availableData
      if more.isEmpty { break }
      unread += more
    }
    guard let last = unread.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
    defer { unread = Data(unread[(last + 1)...]) }
    return unread[..<last].split(separator: UInt8(ascii: "\n")).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// Sends a line.
  func send(_ line: String = "") throws {
    try input.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Ends the process's input.
  func endInput() throws {
    try input.close()
  }

  func kill() {
    child.kill()
  }

  /// Waits for the end and returns the exit status, or the negative number of the signal.
  @discardableResult
  func wait() -> Int32 {
    child.waitUntilExit()
  }

  deinit {
    kill()
  }
}

/// Runs a program to its end.
///
/// - Returns: Its exit status, and both of its outputs.
func run(_ command: String...) throws -> (status: Int32, output: String, errors: String) {
  try run(command)
}

/// Runs a program to its end.
///
/// - Returns: Its exit status, and both of its outputs.
func run(_ command: [String]) throws -> (status: Int32, output: String, errors: String) {
  let outcome = try Program.outcome(of: command)
  return (outcome.status, outcome.text, outcome.complaint)
}

/// Runs the command in the remedy of an error.
func runRemedy(
  of error: StoreError, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let remedy = try #require(error.remedy, sourceLocation: sourceLocation)
  // A remedy may name several alternatives; the command is the last.
  let lead = #/(^|, or )[Rr]un /#
  let start = try #require(
    remedy.matches(of: lead).last?.range.upperBound, "no command in: \(remedy)",
    sourceLocation: sourceLocation)
  let command = String(remedy[start...])
  let result = try run("sh", "-c", command)
  #expect(result.status == 0, "\(command): \(result.errors)", sourceLocation: sourceLocation)
}
