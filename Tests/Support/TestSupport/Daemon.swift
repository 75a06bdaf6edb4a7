import Foundation

/// A program that runs until it is ended, at the latest with the test.
package final class Daemon: Sendable {
  private let child: Child

  /// Starts the program, with a text as its standard input.
  package init(
    _ program: String, _ arguments: [String], input: String = "", environment: [String: String]
  ) throws {
    let pipe = try ClosedPipe()
    // The text fits into the pipe, so this does not block.
    try pipe.writer.write(contentsOf: Data(input.utf8))
    try pipe.writer.close()
    child = try Child(
      program, arguments, environment: environment,
      input: pipe.reader.fileDescriptor)
    try pipe.reader.close()
  }

  deinit {
    child.kill()
    child.waitUntilExit()
  }

  package var isRunning: Bool { child.isRunning }

  package func signal(_ signal: Int32) { child.kill(signal) }

  /// Kills the program, as in a crash.
  package func kill() {
    child.kill()
    child.waitUntilExit()
  }
}

/// A program that does its work and ends.
package enum Program {
  package struct Failure: Error {
    package let program: String
    package let status: Int32
    package let output: String
  }

  /// Runs a program until it exits.
  ///
  /// - Returns: Its output.
  /// - Throws: `Failure` if its status is not 0.
  @discardableResult
  package static func run(
    _ program: String, _ arguments: [String], input: String = "", environment: [String: String]
  ) async throws -> String {
    // Waiting for its end blocks, and the pool has few threads.
    try await onThread {
      let (standardInput, standardOutput) = (try ClosedPipe(), try ClosedPipe())
      try standardInput.writer.write(contentsOf: Data(input.utf8))
      try standardInput.writer.close()
      let child = try Child(
        program, arguments, environment: environment,
        input: standardInput.reader.fileDescriptor,
        output: standardOutput.writer.fileDescriptor)
      try standardInput.reader.close()
      try standardOutput.writer.close()
      let written = try standardOutput.reader.readToEnd() ?? Data()
      let output = String(decoding: written, as: UTF8.self)
      let status = child.waitUntilExit()
      guard status == 0 else {
        throw Failure(program: program, status: status, output: output)
      }
      return output
    }
  }
}
