import Foundation
import Synchronization
import SessionToolsTestSupport

/// A process of a fleet, which ends with this object.
///
/// Its lines are read on a thread of their own, so that it never waits for the test.
final class FleetWorker: Sendable {
  private let child: Child
  private let input: FileHandle
  private let lines = Mutex<[String]>([])
  private let isOutputOver = DispatchSemaphore(value: 0)

  init(
    _ arguments: [String], under program: [String] = [], _ environment: [String: String] = [:]
  ) throws {
    let command = program + [BuildDirectory.program("SessionToolsDatabaseWorker")] + arguments
    let output: FileHandle
    (child, input, output) = try Child.piped(
      command[0], Array(command.dropFirst()),
      environment: environment.merging(["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]) { $1 })
    let thread = Thread { [weak self, isOutputOver] in
      var rest = Data()
      while case let part = output.availableData, !part.isEmpty {
        rest += part
        guard let last = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
        let new = rest[..<last].split(separator: UInt8(ascii: "\n"))
          .map { String(decoding: $0, as: UTF8.self) }
        self?.lines.withLock { $0 += new }
        rest = Data(rest[(last + 1)...])
      }
      isOutputOver.signal()
    }
    thread.stackSize = 1 << 18
    thread.start()
  }

  deinit {
    child.kill()
    child.waitUntilExit()
  }

  /// All lines so far.
  var said: [String] { lines.withLock { $0 } }

  /// The last line so far.
  var last: String? { lines.withLock { $0.last } }

  /// Waits until it has said something.
  func waitFor(_ what: String, _ isIt: @Sendable (String) -> Bool) async throws {
    do {
      try await wait(until: what) {
        if said.contains(where: isIt) { return true }
        guard child.isRunning else { throw NeverHappened(what: what) }
        return false
      }
    } catch let error as NeverHappened {
      throw NeverHappened(what: "a process says \(error.what), but \(said)")
    }
  }

  /// Waits until it has said a line.
  func waitFor(_ line: String) async throws { try await waitFor(line) { $0 == line } }

  func send(_ line: String = "") throws {
    try input.write(contentsOf: Data("\(line)\n".utf8))
  }

  func endInput() throws { try input.close() }

  func signal(_ signal: Int32) { child.kill(signal) }

  var isRunning: Bool { child.isRunning }

  /// Whether it was stopped by a signal.
  var isStopped: Bool {
    let text = try? String(contentsOfFile: "/proc/\(child.identifier)/stat", encoding: .utf8)
    // The name of the program, which is in parentheses, may contain anything.
    return text?.split(separator: ")").last?.split(separator: " ").first == "T"
  }

  /// Kills it, and returns all that it has said.
  func kill() -> [String] {
    child.kill()
    return waitUntilExit().lines
  }

  /// Ends its input, and waits until it exits.
  ///
  /// - Returns: All that it has said, and its status, as of `Child.waitUntilExit`.
  func end() throws -> (lines: [String], status: Int32) {
    try endInput()
    return waitUntilExit()
  }

  /// Blocks the thread until it has exited.
  @discardableResult
  func waitUntilExit() -> (lines: [String], status: Int32) {
    let status = child.waitUntilExit()
    isOutputOver.wait()
    isOutputOver.signal()
    return (said, status)
  }
}
