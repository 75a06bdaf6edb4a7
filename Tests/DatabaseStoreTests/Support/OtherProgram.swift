import Foundation
import TestSupport

/// A program that runs to its end and whose output is kept.
enum OtherProgram {
  static func run(_ command: [String]) throws -> (status: Int32, output: Data, errors: String) {
    // Files, because a pipe that is not read yet would block the writer.
    let directory = try TemporaryDirectory()
    let files = try ["output", "errors"].map { name in
      _ = FileManager.default.createFile(atPath: directory[name], contents: nil)
      return try FileHandle(forWritingTo: URL(filePath: directory[name]))
    }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = files[0]
    process.standardError = files[1]
    try process.run()
    process.waitUntilExit()
    return (
      process.terminationStatus, try Data(contentsOf: URL(filePath: directory["output"])),
      String(decoding: try Data(contentsOf: URL(filePath: directory["errors"])), as: UTF8.self)
    )
  }
}
