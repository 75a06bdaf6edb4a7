package import Foundation

/// A program that runs until it is ended, at the latest with the test.
package final class Daemon: Sendable {
  private let child: Child
  private let complaints: CapturedText

  /// Starts the program, with a text as its standard input.
  package init(
    _ program: String, _ arguments: [String], input: String = "", environment: [String: String]
  ) throws {
    let pipe = try ClosedPipe()
    // The text fits into the pipe, so this does not block.
    try pipe.writer.write(contentsOf: Data(input.utf8))
    try pipe.writer.close()
    complaints = try CapturedText()
    child = try Child(
      program, arguments, environment: environment,
      input: pipe.reader.fileDescriptor, errors: complaints.writer.fileDescriptor)
    try pipe.reader.close()
  }

  deinit {
    child.kill()
    child.waitUntilExit()
  }

  package var isRunning: Bool { child.isRunning }

  /// Throws what the program wrote to its standard error if it has ended.
  package func requireRunning(_ name: String) throws {
    if !isRunning { throw NeverHappened(what: "\(name) keeps running; it said: \(complaint)") }
  }

  /// What it has written to its standard error.
  package var complaint: String { complaints.text }

  package func signal(_ signal: Int32) { child.kill(signal) }

  /// Kills the program, as in a crash.
  package func kill() {
    child.kill()
    child.waitUntilExit()
  }
}

/// A program that does its work and ends.
package enum Program {
  /// How a program ended, and what it wrote.
  package struct Outcome: Sendable {
    package let output: Data
    /// What it wrote to its standard error.
    package let complaint: String
    /// Its exit status, or the negative number of the signal that ended it.
    package let status: Int32

    package var text: String { String(decoding: output, as: UTF8.self) }
  }

  /// Runs a program without input until it exits, and blocks the thread meanwhile.
  ///
  /// - Parameters:
  ///   - command: The program, which is looked for in `PATH`, and its arguments.
  ///   - directory: Where it runs, by default where this process does.
  ///   - environment: Its variables, by default those of this process.
  /// - Returns: How it ended, whatever its status.
  /// - Throws: When it cannot be started.
  package static func outcome(
    of command: [String], in directory: String? = nil,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws -> Outcome {
    // Files, because a pipe that is not read yet would block the writer.
    let (output, complaints) = (try CapturedText(), try CapturedText())
    let child = try Child(
      "/usr/bin/env", command, environment: environment, in: directory,
      output: output.writer.fileDescriptor, errors: complaints.writer.fileDescriptor)
    let status = child.waitUntilExit()
    return Outcome(output: output.data, complaint: complaints.text, status: status)
  }

  package struct Failure: Error {
    package let program: String
    package let status: Int32
    package let output: String
    /// What it wrote to its standard error.
    package let complaint: String
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
      // A file, because a process that outlives the program would keep a pipe open.
      let complaints = try CapturedText()
      let child = try Child(
        program, arguments, environment: environment,
        input: standardInput.reader.fileDescriptor,
        output: standardOutput.writer.fileDescriptor, errors: complaints.writer.fileDescriptor)
      try standardInput.reader.close()
      try standardOutput.writer.close()
      let written = try standardOutput.reader.readToEnd() ?? Data()
      let output = String(decoding: written, as: UTF8.self)
      let status = child.waitUntilExit()
      guard status == 0 else {
        throw Failure(
          program: program, status: status, output: output, complaint: complaints.text)
      }
      return output
    }
  }
}
