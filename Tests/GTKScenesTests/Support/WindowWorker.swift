#if GTKScenes
import Foundation
import SessionToolsTestSupport

/// A process of the program `SessionToolsWindowWorker`.
final class WindowWorker: Sendable {
  static let path = BuildDirectory.program("SessionToolsWindowWorker")

  private let program: LineProgram
  private let directory: TemporaryDirectory

  /// Starts the program, and waits until it is ready.
  init(on desktop: Desktop, environment: [String: String] = [:]) async throws {
    directory = try TemporaryDirectory()
    program = try LineProgram(
      Self.path, [directory["store"]],
      environment: desktop.environment.merging(environment) { $1 })
    try await program.wait(for: "ready")
  }

  /// The process's identifier.
  var process: Int32 { program.process }

  /// Ends the program as if the person quit it, and returns its exit status.
  func quit() throws -> Int32 { try program.end() }

  /// All lines since the last command.
  var lines: [String] { program.lines }

  /// Sends a command, which is done before later ones.
  func send(_ command: String) throws { try program.send(command) }

  /// Sends a command, and waits until it is done.
  func `do`(_ command: String) async throws {
    program.forget()
    try program.send(command)
    try await program.wait(for: "done \(command)")
  }

  /// Waits for a line since the last command.
  func wait(for line: String) async throws { try await program.wait(for: line) }

  /// Returns the rest of the answer to a command.
  func answer(_ command: String) async throws -> String {
    try await self.do(command)
    return lines.first { $0.hasPrefix(command) }.map { String($0.dropFirst(command.count + 1)) }
      ?? "no answer in \(lines)"
  }

  /// Waits until the whole display shows these colors, and no others.
  func waitUntilShown(_ colors: String) async throws {
    try await SessionToolsTestSupport.wait(until: "\(colors) is shown") {
      try await answer("look") == colors
    }
  }

  /// Waits until a window has the focus, or has lost it.
  func wait(until window: String, isActive: Bool) async throws {
    try await SessionToolsTestSupport.wait(until: "\(window) is active: \(isActive)") {
      try await answer("state \(window)").hasSuffix("active=\(isActive)")
    }
  }

  /// Waits until a window shows a question and has the focus.
  func waitForQuestion(in window: String) async throws {
    try await SessionToolsTestSupport.wait(until: "\(window) asks") {
      try await answer("state \(window)").hasSuffix("asked=true active=true")
    }
  }

  /// Types the passphrase when a window asks for it, and waits until the gate is open.
  func answerQuestion(in window: String, on desktop: Desktop) async throws {
    try await waitForQuestion(in: window)
    // Keys that were pressed before may arrive only now.
    try await desktop.press("BackSpace")
    try await desktop.type("open sesame")
    try await desktop.press("Return")
    try await wait(for: "asked open")
  }

  /// The frames that the windows have drawn since the last command.
  var frames: [Frame] { lines.compactMap { Frame($0) } }

  /// Waits until a window has drawn a number of frames since the last command.
  func waitUntilDrawn(_ count: Int, of window: String) async throws {
    try await SessionToolsTestSupport.wait(until: "\(window) has drawn") {
      frames.count { $0.window == window } >= count
    }
  }
}

/// A frame that a window has drawn.
struct Frame: Equatable {
  let window: String
  let isActive: Bool
  let isLocked: Bool
  /// What the whole display showed after it; `-` for no content.
  let shown: String
  /// Which of `layout` and `paint` the frame had.
  let phases: String

  init?(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    guard words.count == 6, words[0] == "frame" else { return nil }
    window = words[1]
    isActive = words[2] == "active=true"
    isLocked = words[3] == "locked=true"
    shown = String(words[4].dropFirst("shown=".count))
    phases = String(words[5].dropFirst("phases=".count))
  }
}
#endif
