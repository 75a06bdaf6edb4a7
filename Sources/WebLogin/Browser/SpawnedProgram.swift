import Foundation
import SessionToolsBase

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
