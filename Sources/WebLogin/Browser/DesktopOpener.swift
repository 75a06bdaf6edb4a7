package import Foundation
import SessionToolsBase
package import OAuthLogin

/// A program that opens addresses, started as a separate process.
package struct DesktopOpener: LoginBrowser {
  private let program: String
  /// Environment variables added to those of this process.
  private let environment: [String: String]

  package init(_ program: String = "xdg-open", environment: [String: String] = [:]) {
    self.program = program
    self.environment = environment
  }

  /// Starts the program, and waits until it ends or the task is cancelled.
  ///
  /// Cancellation leaves the program running, because it may be the browser itself.
  ///
  /// - Throws: `noBrowser` when it cannot be started or reports a failure.
  package func open(_ address: URL) async throws(WebLoginError) {
    let child: SpawnedProgram
    do {
      child = try SpawnedProgram(program, [address.absoluteString], environment: environment)
    } catch {
      throw .noBrowser("\(program) cannot be started")
    }
    let status = await child.status()
    guard let status, status != 0 else { return }
    throw .noBrowser("\(program) found no browser to open (status \(status))")
  }
}

/// A program that runs as long as it likes, such as a browser, and whose end a task can wait for.
///
/// Its output is discarded, because `xdg-open` prints the address when it fails.
final class SpawnedProgram: Sendable {
  /// The program's status; `nil` when it is unknown.
  private let ending = FirstAnswer<Int32?>()

  /// Starts the program, found by `PATH`.
  ///
  /// - Parameters:
  ///   - program: Its name.
  ///   - arguments: Its arguments, which every user of the machine can read.
  ///   - environment: Environment variables added to those of this process.
  /// - Throws: The error that kept it from being started.
  init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws(SystemCallError) {
    let program = try StartedProgram(program, arguments, environment: environment)
    // The thread waits as long as the browser runs, if the program has become the browser.
    let thread = Thread { [ending] in ending.give(program.wait()) }
    thread.stackSize = 1 << 17
    thread.start()
  }

  /// Returns the program's status; `nil` when it is unknown, or the task was cancelled before.
  func status() async -> Int32? {
    await ending.value(whenCancelled: nil)
  }
}
