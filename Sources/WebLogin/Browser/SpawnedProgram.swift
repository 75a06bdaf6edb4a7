import Foundation
import SessionToolsBase

/// A program that runs as long as it likes, such as a browser, and can be waited for by a task.
///
/// Its output is thrown away, because `xdg-open` prints the address when it fails.
final class SpawnedProgram: Sendable {
  /// `nil` when nobody knows how it ended.
  private let ending = FirstAnswer<Int32?>()

  /// Starts it, found by `PATH`.
  ///
  /// - Parameters:
  ///   - program: Its name.
  ///   - arguments: Its arguments, which everybody on the machine can read.
  ///   - environment: What it sees besides what this process does.
  /// - Throws: What keeps it from being started.
  init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws(SystemCallError) {
    let program = try StartedProgram(program, arguments, environment: environment)
    // It waits as long as the browser runs, if that is what it became.
    let thread = Thread { [ending] in ending.give(program.wait()) }
    thread.stackSize = 1 << 17
    thread.start()
  }

  /// How it ended; `nil` when nobody knows, or the task was cancelled before.
  func status() async -> Int32? {
    await ending.value(whenCancelled: nil)
  }
}
