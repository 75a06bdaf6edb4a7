import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The clipboard of a display without a screen.
@Suite(.onOwnThread, .serialized) struct ClipboardTests {
  private let tool: Tool
  private let server: Daemon
  private let environment: [String: String]

  init() async throws {
    let tool = try Tool()
    self.tool = tool
    // The server chooses a free number, and writes it when programs may connect.
    server = try Daemon(
      "/bin/bash",
      ["-c", "exec Xvfb -displayfd 1 -nolisten tcp -noreset > '\(tool["number"])' 2> /dev/null"],
      environment: tool.environment)
    var number = ""
    try await wait(until: "the display is there") {
      number = (try? String(contentsOf: URL(filePath: tool["number"]), encoding: .utf8)) ?? ""
      return number.hasSuffix("\n")
    }
    environment = tool.environment.merging(["DISPLAY": ":\(number.dropLast())"]) { $1 }
    let made = try tool.run(
      "session-tools init store && printf geheim | session-tools set store --service mail token")
    try #require(made.status == 0)
  }

  /// Runs a line of bash, whose programs may stay in the background.
  private func run(_ line: String) async throws -> String {
    try await Program.run(
      "/bin/bash", ["-c", "cd '\(tool.path)' && \(line)"], environment: environment)
  }

  private static let paste = "xclip -selection clipboard -out 2> /dev/null"
  private static let copy = "session-tools copy store --service mail token"
  /// Copies, long enough for a busy machine, and waits until the value can be pasted.
  private static let copySeen =
    "\(copy) --for 10 & until seen=$(\(paste)); [ \"$seen\" = geheim ] || ! kill -0 $!; "
    + "do sleep 0.1; done;"

  @Test func aValueCanBePasted() async throws {
    // The program that has the value may still be starting.
    #expect(
      try await run(
        "\(Self.copy) --for 0 && for turn in {1..600}; do "
          + "[ \"$(\(Self.paste))\" = geheim ] && break; sleep 0.1; done; \(Self.paste)")
        == "geheim")
  }

  @Test func aValueIsThereUntilItsTimeIsOver() async throws {
    let seen = try await run("\(Self.copySeen) echo $seen; wait $! && \(Self.paste) || true")
    #expect(seen == "geheim\n")
  }

  @Test func somethingCopiedMeanwhileStays() async throws {
    let left = try await run(
      "\(Self.copySeen) printf other | xclip -selection clipboard -in > /dev/null 2>&1; "
        + "wait $! && \(Self.paste)")
    #expect(left == "other")
  }

  @Test(arguments: ["INT", "TERM", "HUP"])
  func aSignalClearsItAtOnce(_ signal: String) async throws {
    // Bash lets background programs ignore SIGINT, so the signal comes from `timeout`; in the
    // foreground it sends one, and not a second one to its group.
    let left = try await run(
      "timeout --foreground --signal \(signal) 3 \(Self.copy) --for 3600; \(Self.paste) || true")
    #expect(left.isEmpty)
  }

  @Test func aSecondSignalWhileItIsClearedLeavesNothing() async throws {
    // The program that looks at the clipboard is started by the clearing, and sends the signal.
    try tool.run(
      "mkdir programs && printf '%s\n' '#!/bin/sh' 'case \"$*\" in *-out*) kill -INT $PPID;; esac' "
        + "'exec /usr/bin/xclip \"$@\"' > programs/xclip && chmod +x programs/xclip")
    let left = try await run(
      "PATH=\"$PWD/programs:$PATH\" timeout --foreground --signal INT 3 \(Self.copy) --for 3600; "
        + "\(Self.paste) || true")
    #expect(left.isEmpty)
  }

  @Test func withoutADesktopOrAProgramThereIsNoClipboard() throws {
    let none = try tool.run(Self.copy)
    #expect(none.status == 4)
    #expect(none.complaint.contains("neither WAYLAND_DISPLAY nor DISPLAY is set"))
    let missing = try tool.run(
      "PATH=$(dirname \"$(command -v session-tools)\"); \(Self.copy)",
      environment: ["DISPLAY": ":0"])
    #expect(missing.status == 4)
    #expect(missing.complaint.contains("install xclip or xsel"))
  }
}
