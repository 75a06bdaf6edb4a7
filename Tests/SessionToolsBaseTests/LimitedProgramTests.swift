import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// Programs that write too much output or errors, take too long or do not end.
@Suite struct LimitedProgramTests {
  private func run(
    _ script: String, input: String = "", largest: Int = 1000, timeout: Duration = .seconds(60)
  ) throws -> LimitedProgram.Ending {
    var program = LimitedProgram(
      "sh", ["-c", script], maximumOutputByteCount: largest, timeout: timeout)
    program.input = Array(input.utf8)
    return try program.run()
  }

  private func text(_ ending: LimitedProgram.Ending) -> String? {
    guard case .ended(status: 0, let output, _) = ending else { return nil }
    return String(decoding: output.copyBytes(), as: UTF8.self)
  }

  @Test func `a program's output, status and error output are returned`() throws {
    guard
      case .ended(let status, let output, let complaint) = try run(
        "cat; echo bad >&2; exit 3", input: "in")
    else {
      Issue.record("the program did not end")
      return
    }
    #expect(status == 3)
    #expect(output == SecretBytes(utf8: "in"))
    #expect(complaint == "bad\n")
    #expect(try text(run("wc -c")) == "0\n")
  }

  @Test func `output up to the limit is read, and one byte more ends the program`() throws {
    #expect(try text(run("head -c 200000 /dev/zero", largest: 200_000))?.utf8.count == 200_000)
    guard case .wroteTooMuch = try run("head -c 200001 /dev/zero", largest: 200_000) else {
      Issue.record("it was read")
      return
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a program that writes without end is ended, and no process is left`() throws {
    let mark = "session-tools-\(UInt64.random(in: 0 ... .max))"
    guard case .wroteTooMuch = try run("yes \(mark) | cat") else {
      Issue.record("it was read")
      return
    }
    // The whole group was killed; the kernel may take a moment for it.
    try blockingWait(until: "no process is left") { !Self.isRunning(mark) }
  }

  private static func isRunning(_ mark: String) -> Bool {
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return processes.contains { process in
      guard Int(process) != nil else { return false }
      let line = (try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline"))) ?? Data()
      return String(decoding: line, as: UTF8.self).contains(mark)
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `error output is cut to its end, and endless error output times out`() throws {
    let ending = try run(
      "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo last words >&2; echo out")
    guard case .ended(status: 0, let output, let complaint) = ending else {
      Issue.record("\(ending)")
      return
    }
    #expect(output == SecretBytes(utf8: "out\n"))
    #expect(complaint.utf8.count == 4096 && complaint.hasSuffix("xlast words\n"))
    guard case .tookTooLong = try run("yes >&2", timeout: .milliseconds(300)) else {
      Issue.record("it ended")
      return
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a program that takes too long is ended`() throws {
    for script in ["sleep 600", "exec >&- 2>&-; sleep 600"] {
      guard case .tookTooLong = try run(script, timeout: .milliseconds(200)) else {
        Issue.record("\(script) ended")
        return
      }
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a program that leaves a daemon with its outputs has ended`() throws {
    #expect(try text(run("setsid sleep 300 & echo out")) == "out\n")
  }

  @Test(.timeLimit(.minutes(1)))
  func `a report is read beside the output, up to its limit`() throws {
    let program = LimitedProgram(
      "sh", ["-c", "echo first >&3; head -c 1000000 /dev/zero >&3; echo out; echo bad >&2"],
      maximumOutputByteCount: 1000, timeout: .seconds(60))
    let (ending, report) = try program.runForReport()
    #expect(text(ending) == "out\n")
    #expect(report.hasPrefix("first\n") && report.utf8.count == 1 << 16)
    let silent = LimitedProgram(
      "sh", ["-c", "exec 3>&-; echo out"], maximumOutputByteCount: 9, timeout: .seconds(60))
    #expect(try silent.runForReport().report.isEmpty)
  }

  @Test(.timeLimit(.minutes(1)))
  func `a program that is stopped, as by asking on the terminal from the background, is ended`()
    throws
  {
    guard case .wantedTerminal = try run("kill -STOP $$") else {
      Issue.record("it ended")
      return
    }
  }

  @Test func `variables are added to those of this process`() throws {
    var program = LimitedProgram(
      "sh", ["-c", "echo $ADDED; test -n \"$PATH\" && env | grep -c ^ADDED="],
      maximumOutputByteCount: 1000, timeout: .seconds(60))
    program.environment = ["ADDED": "value"]
    #expect(text(try program.run()) == "value\n1\n")
  }

  @Test func `a missing program is reported as such`() {
    let program = LimitedProgram(
      "no-such-program-here", [], maximumOutputByteCount: 1, timeout: .seconds(1))
    #expect(throws: SystemCallError("posix_spawnp", ENOENT)) { try program.run() }
  }

  @Test func `input that is not read is harmless`() throws {
    #expect(try text(run("exec <&-; sleep 0.1; echo out", input: "unread")) == "out\n")
  }
}
