import Foundation
import SessionToolsTestSupport

/// A process of the program `SessionToolsAuthenticationWorker`.
final class AuthenticationWorker: Sendable {
  private let child: Child
  private let input: FileHandle
  private let output: FileHandle
  /// The identifier of the process that evaluates, not that of a `sudo` which started it.
  let process: Int32

  static let path = BuildDirectory.program("SessionToolsAuthenticationWorker")

  struct Silence: Error {
    let expected: String
  }

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - arguments: Its command.
  ///   - path: The program, or a copy of it.
  ///   - prefix: The program that starts it, with its arguments.
  ///   - environment: Its environment, to which a search path is added.
  /// - Throws: `Silence` if it does not begin.
  init(
    _ arguments: [String], at path: String = AuthenticationWorker.path,
    under prefix: [String] = [], environment: [String: String] = [:]
  ) async throws {
    let command = prefix + [path] + arguments
    (child, input, output) = try Child.piped(
      command[0], Array(command.dropFirst()),
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"].merging(environment) { $1 })
    let first = try await output.line()
    guard let first, let process = first.split(separator: " ").last.flatMap({ Int32($0) }) else {
      throw Silence(expected: "its process identifier")
    }
    self.process = process
  }

  deinit {
    child.kill()
    child.waitUntilExit()
  }

  /// Returns the next line, or `nil` if there are no more.
  func line() async throws -> String? { try await output.line() }

  /// Sends a line.
  func send(_ line: String) throws {
    try input.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Closes its input.
  func endInput() throws { try input.close() }

  /// Gives the same answer to all questions, until the outcome.
  ///
  /// - Returns: All lines, including the outcome.
  func lines(answering answer: String) async throws -> [String] {
    var lines: [String] = []
    while let line = try await line() {
      lines.append(line)
      if line.hasPrefix("question") { try send(answer) }
      if line.hasPrefix("authenticated") || line.hasPrefix("error") { return lines }
    }
    throw Silence(expected: "an outcome after \(lines)")
  }

  func signal(_ signal: Int32) { child.kill(signal) }
}
