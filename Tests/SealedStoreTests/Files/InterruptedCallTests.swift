import Foundation
import SealedStore
import TestThreads
import Testing

/// Whether a process may trace another one here.
private let canTrace = (try? run("strace", "-qq", "-o", "/dev/null", "true").status) == 0

/// Calls of a real process that answer `EINTR`, as they do when a signal comes while they wait.
///
/// On local disks hardly any of them ever waits so that a signal could end it, so a tracer puts
/// the answer in the call's place.
@Suite(.onOwnThread, .enabled(if: canTrace, "needs strace, and leave to trace"))
struct InterruptedCallTests {
  private static let names = [
    "header", "header.copy", "header.next", "journal", "journal.next", "replacement", "mark",
    "lock",
  ]

  /// Runs a worker, some of whose calls on the store's files are interrupted.
  ///
  /// - Parameters:
  ///   - call: Which system call.
  ///   - which: Which of them, as strace counts.
  ///   - onFilesAlone: Whether calls on the directory are left alone.
  /// - Returns: The worker's lines, and the calls that were made.
  /// - Throws: When the worker cannot be run.
  private func live(
    interrupting call: String, _ which: String, onFilesAlone: Bool = false
  ) throws -> (lines: [String], calls: [String]) {
    let scratch = try Scratch()
    let log = scratch["log"]
    let paths = ((onFilesAlone ? [] : [scratch.path]) + Self.names.map { scratch.file($0) }).flatMap
    { ["-P", $0] }
    let result = try run(
      ["strace", "-f", "-qq", "-o", log, "-e", "trace=\(call)"] + paths
        + ["-e", "inject=\(call):error=EINTR:when=\(which)"]
        + [Worker.executable.path, "live", scratch.path, scratch.writeKeyFile()])
    let calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    return (result.output.split(separator: "\n").map(String.init), calls.map(String.init))
  }

  @Test(arguments: [
    "mkdir", "openat", "statx", "pread64", "pwrite64", "ftruncate", "fcntl", "renameat",
    "unlinkat",
  ])
  func `a call that a signal interrupts is made again`(call: String) throws {
    // What the C library does with a directory when it lists it is not made again by it.
    let isMadeByLibrary = call == "fcntl"
    let (lines, calls) = try live(
      interrupting: call, "1+2", onFilesAlone: isMadeByLibrary)
    #expect(
      lines == ["create ok", "put ok", "compact ok", "rotate ok", "cut off ok", "read ok"])
    #expect(calls.contains { $0.contains("INJECTED") })
  }

  @Test func `a sync that a signal interrupts is not made again, and its outcome is unknown`()
    throws
  {
    let (lines, calls) = try live(interrupting: "fdatasync", "1")
    #expect(lines == ["create ok", "put outcomeUnknown"])
    #expect(calls.count { $0.contains("fdatasync(") } == 1)
  }

  @Test func `a new file whose sync a signal interrupts is given up`() throws {
    let (lines, calls) = try live(interrupting: "fsync", "1")
    #expect(lines == ["create io"])
    #expect(calls.count { $0.contains("fsync(") } == 1)
  }
}
