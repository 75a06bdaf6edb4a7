import Glibc
import SessionToolsBase

/// What is said to the person: errors, notices, progress.
enum StandardError {
  static let isTerminal = System.isTerminal(STDERR_FILENO)

  /// Says something in a line of its own, control characters made visible.
  static func say(_ text: String) {
    write(text.escapingControls(keepingNewlines: true) + "\n")
  }

  /// Writes a text as it is.
  static func write(_ text: String) {
    // Nobody is left to be told that telling failed.
    try? System.write(text, to: STDERR_FILENO)
  }
}
