import Foundation
import SealedStore
import SessionToolsTestThreads
import Testing

/// Whether this machine forbids tracing; where strace is missing, the tests fail.
private let forbidsTracing =
  FileManager.default.fileExists(atPath: "/usr/bin/strace")
  && (try? run("strace", "-qq", "-o", "/dev/null", "true").status) != 0

/// Tests of calls of a real process that fail with `EINTR`, as after a signal while they wait.
///
/// On local disks hardly any call ever waits so long that a signal could end it, so a tracer
/// replaces the result of the call.
@Suite(.onOwnThread, .disabled(if: forbidsTracing, "tracing is not permitted here"))
struct InterruptedCallTests {
  private static let names = [
    "header", "header.copy", "header.next", "journal", "journal.next", "replacement", "mark",
    "lock",
  ]

  /// Runs a worker and interrupts some of its calls on the store's files.
  ///
  /// - Parameters:
  ///   - call: The name of the system call.
  ///   - which: The interrupted calls, in strace's syntax.
  ///   - onFilesAlone: Whether calls on the directory are excluded.
  /// - Returns: The worker's lines, and the calls that were made.
  /// - Throws: An error if the worker cannot be run.
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
  func `a call that a signal interrupts is repeated`(call: String) throws {
    // The C library does not repeat its own calls when it lists a directory.
    let isMadeByLibrary = call == "fcntl"
    let (lines, calls) = try live(
      interrupting: call, "1+2", onFilesAlone: isMadeByLibrary)
    #expect(
      lines == ["create ok", "put ok", "compact ok", "rotate ok", "cut off ok", "read ok"])
    #expect(calls.contains { $0.contains("INJECTED") })
  }

  @Test func `a sync that a signal interrupts is not repeated, and its outcome is unknown`()
    throws
  {
    let (lines, calls) = try live(interrupting: "fdatasync", "1")
    #expect(lines == ["create ok", "put outcomeUnknown"])
    #expect(calls.count { $0.contains("fdatasync(") } == 1)
  }

  @Test func `creating a file fails if a signal interrupts its sync`() throws {
    let (lines, calls) = try live(interrupting: "fsync", "1")
    #expect(lines == ["create io"])
    #expect(calls.count { $0.contains("fsync(") } == 1)
  }
}
