import Foundation

/// A program that a test started, which ends with this object.
///
/// Unchecked, because nothing is changed after the start.
final class RunningProgram: @unchecked Sendable {
  private let process = Process()
  /// What the program has printed until it listens; empty if its output is not read.
  let firstLine: String

  init(
    _ path: String, _ arguments: [String] = [], environment: [String: String],
    readsLine: Bool = false
  ) throws {
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    process.environment = environment
    let output = Pipe()
    process.standardOutput = readsLine ? output : FileHandle.standardError
    try process.run()
    firstLine =
      readsLine
      ? String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        .trimmingCharacters(in: .newlines) : ""
  }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits until the program has ended, and returns its status, or the signal that ended it.
  func status() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }

  deinit { if process.isRunning { send(SIGKILL) } }
}

struct MissingVariable: Error, CustomStringConvertible {
  let name: String
  var description: String { "\(name) is not set: run these tests by Tests/Tools/server-packages" }
}

func variable(_ name: String) throws -> String {
  guard let value = ProcessInfo.processInfo.environment[name] else {
    throw MissingVariable(name: name)
  }
  return value
}

/// A port that is free now.
func freePort() throws -> Int {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let isBound = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
    }
  }
  guard isBound else { throw POSIXError(.EADDRINUSE) }
  return Int(UInt16(bigEndian: address.sin_port))
}
