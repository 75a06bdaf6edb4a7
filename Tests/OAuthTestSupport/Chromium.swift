import Foundation
import TestSupport

/// A real browser without a window, which people at it make do what a test says.
///
/// One for all tests of a process: it has no window to start with, and a new page for each login.
package final class Chromium: Sendable {
  package struct Failure: Error {
    package let reason: String
  }

  /// What somebody does with a page of the authorization server.
  package enum Act: String, Sendable {
    /// Looks at it.
    case open
    case allow, deny, close
    /// Loads it again.
    case again
    /// Nothing, but look at the page.
    case page
    /// Nothing, but look at its address.
    case address
  }

  private static let one = Result { try Chromium() }
  private static let program = "\(SourceDirectory.path)/Tests/WebBrowser/browser.py"

  private let directory: TemporaryDirectory
  private let process: Child
  /// It ends when this is closed, at the latest with this process.
  private let input: ClosedPipe
  private let output: ClosedPipe

  /// Starts it, if that was not done before.
  package static func shared() throws -> Chromium { try one.get() }

  private init() throws {
    directory = try TemporaryDirectory()
    input = try ClosedPipe()
    output = try ClosedPipe()
    process = try Child(
      "/usr/bin/python3", [Self.program, "serve"], environment: Self.environment(directory),
      input: input.reader.fileDescriptor, output: output.writer.fileDescriptor)
    try output.writer.close()
    guard output.reader.availableData.starts(with: Data("ready".utf8)) else {
      throw Failure(reason: "run by Tests/run, which installs Chromium")
    }
  }

  private static func environment(_ directory: TemporaryDirectory) -> [String: String] {
    [
      "PATH": "/usr/bin:/bin", "HOME": directory.path, "PYTHONDONTWRITEBYTECODE": "1",
      "SESSION_TOOLS_BROWSER": directory["browser"],
    ]
  }

  /// What a program sees whose addresses are to be opened in it, by somebody who does something then.
  package func environment(_ act: Act) -> [String: String] {
    [
      "BROWSER": Self.program, "PYTHONDONTWRITEBYTECODE": "1",
      "SESSION_TOOLS_BROWSER": directory["browser"], "SESSION_TOOLS_BROWSER_ACT": act.rawValue,
    ]
  }

  /// Does something with the page that was opened last.
  ///
  /// - Returns: The page after that: its path, and what it says.
  @discardableResult
  package func perform(_ act: Act) async throws -> String {
    let environment = Self.environment(directory)
    let said = try await Program.run(
      "/usr/bin/python3", [Self.program, "do", act.rawValue], environment: environment)
    return said.trimmingCharacters(in: .newlines)
  }
}
