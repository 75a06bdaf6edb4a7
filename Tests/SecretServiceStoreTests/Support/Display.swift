import Foundation
import SessionToolsTestSupport

/// An invisible display for programs that ask in windows, where tests can press keys.
final class Display: Sendable {
  private let server: Child
  /// The name of the display, for programs that use it.
  let name: String

  init() throws {
    let output = try ClosedPipe()
    server = try Child(
      "/usr/bin/Xvfb", ["-displayfd", "1", "-nolisten", "tcp", "-noreset"],
      environment: ["PATH": "/usr/bin:/bin"], output: output.writer.fileDescriptor)
    try output.writer.close()
    // The server chooses a free number, and writes it when programs may connect.
    var line = Data()
    while line.last != UInt8(ascii: "\n"), let byte = try output.reader.read(upToCount: 1) {
      line += byte
    }
    name = ":" + String(decoding: line.dropLast(), as: UTF8.self)
  }

  deinit {
    server.kill()
    server.waitUntilExit()
  }

  /// Presses a key in the window with a title until the window is gone.
  func press(_ key: String, inWindowNamed title: String) async throws {
    let search = ["search", "--onlyvisible", "--name", title]
    try await wait(until: "the window is there") { await isDone(search) }
    try await wait(until: "the window is gone") {
      _ = await isDone(search + ["windowfocus", "--sync", "key", key])
      return await !isDone(search)
    }
  }

  /// Returns whether xdotool succeeded.
  private func isDone(_ arguments: [String]) async -> Bool {
    let output = try? await Program.run(
      "/usr/bin/xdotool", arguments, environment: ["PATH": "/usr/bin:/bin", "DISPLAY": name])
    return output != nil
  }
}
