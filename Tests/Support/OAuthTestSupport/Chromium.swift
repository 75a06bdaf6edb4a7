import Foundation
import SessionToolsTestSupport

/// A real browser without a window, in which tests act as the person.
///
/// Tests that run one at a time can share one browser; each login has a new page.
package final class Chromium: Sendable {
  package struct Failure: Error {
    package let reason: String
  }

  /// What the person does with a page of the authorization server.
  package enum Act: String, Sendable {
    /// Opens it.
    case open
    case allow, deny, close
    /// Reloads it.
    case again
    /// Nothing but reading the page.
    case page
    /// Nothing but reading its address.
    case address
  }

  private static let one = Result { try Chromium() }
  private static let program = "\(SourceDirectory.path)/Tests/Services/WebBrowser/browser.py"

  private let directory: TemporaryDirectory
  private let process: Child
  /// The browser ends when this is closed, at the latest with this process.
  private let input: ClosedPipe
  private let output: ClosedPipe

  /// Returns the browser, starting it if necessary.
  package static func shared() throws -> Chromium { try one.get() }

  /// Starts a browser, which ends with this object.
  package init() throws {
    directory = try TemporaryDirectory()
    // xdg-open takes a path with a space for a program and an argument.
    try FileManager.default.createSymbolicLink(
      atPath: directory["browser.py"], withDestinationPath: Self.program)
    input = try ClosedPipe()
    output = try ClosedPipe()
    let complaints = try CapturedText()
    process = try Child(
      "/usr/bin/python3", [Self.program, "serve"], environment: Self.environment(directory),
      input: input.reader.fileDescriptor, output: output.writer.fileDescriptor,
      errors: complaints.writer.fileDescriptor)
    try output.writer.close()
    guard output.reader.availableData.starts(with: Data("ready".utf8)) else {
      throw Failure(
        reason: "Chromium, which Tests/run installs, did not start: \(complaints.text)")
    }
  }

  private static func environment(_ directory: TemporaryDirectory) -> [String: String] {
    [
      "PATH": "/usr/bin:/bin", "HOME": directory.path, "PYTHONDONTWRITEBYTECODE": "1",
      "SESSION_TOOLS_BROWSER": directory["browser"],
    ]
  }

  /// Returns the environment of a program that opens its addresses in this browser, where the
  /// person then does something.
  package func environment(_ act: Act) -> [String: String] {
    [
      "BROWSER": directory["browser.py"], "PYTHONDONTWRITEBYTECODE": "1",
      "SESSION_TOOLS_BROWSER": directory["browser"], "SESSION_TOOLS_BROWSER_ACT": act.rawValue,
    ]
  }

  /// Performs an act on the page that was opened last.
  ///
  /// - Returns: The page after that: its path and its text.
  @discardableResult
  package func perform(_ act: Act) async throws -> String {
    let environment = Self.environment(directory)
    let said = try await Program.run(
      "/usr/bin/python3", [Self.program, "do", act.rawValue], environment: environment)
    return said.trimmingCharacters(in: .newlines)
  }
}
