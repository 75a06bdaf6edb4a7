import SessionToolsTestSupport
import Testing

/// How long the tests themselves wait.
@Suite struct WaitingTests {
  /// Checks at these times, in seconds, and returns the first at which the wait is over.
  private func end(of limit: Int, _ times: [Int]) -> Int? {
    var wait = Wait(atMost: .seconds(limit), from: .zero)
    return times.first { wait.isOver(at: .seconds($0)) }
  }

  @Test func `a wait ends when its time has passed, however few the checks were`() {
    #expect(end(of: 300, Array(0...400)) == 300)
    #expect(end(of: 300, Array(stride(from: 0, to: 1000, by: 20))) == 300)
  }

  @Test func `a machine that stood still for an hour has waited 30 seconds`() {
    #expect(end(of: 300, Array(0...100) + Array(3700...4000)) == 3870)
  }

  @Test func `each check may stand still, and the wait ends`() {
    #expect(end(of: 300, (0...20).map { $0 * 3600 }) == 36_000)
  }

  @Test func `waits end with the condition`() async throws {
    var count = 0
    try await wait(until: "the third check") {
      count += 1
      return count == 3
    }
    try blockingWait(until: "the sixth check") {
      count += 1
      return count == 6
    }
    #expect(count == 6)
  }

  @Test func `a failing program is reported with what it wrote to its standard error`()
    async throws
  {
    let failure = try await #require(throws: Program.Failure.self) {
      try await Program.run(
        "/bin/sh", ["-c", "echo said; echo the reason >&2; exit 3"], environment: [:])
    }
    #expect("\(failure)".contains("the reason"))
    #expect(failure.output == "said\n" && failure.status == 3)
  }

  @Test func `a program that should run is reported with what it wrote before its end`()
    async throws
  {
    let daemon = try Daemon("/bin/sh", ["-c", "echo the reason >&2"], environment: [:])
    try await wait(until: "it has ended") { !daemon.isRunning }
    let error = #expect(throws: NeverHappened.self) { try daemon.requireRunning("it") }
    #expect(error?.what.contains("the reason") == true)
  }
}
