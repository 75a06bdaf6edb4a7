import Glibc
import SessionToolsBase

/// What is said to the person: errors, notices, progress.
enum StandardError {
  static let isTerminal = System.isTerminal(STDERR_FILENO)

  /// Says something in a line of its own.
  ///
  /// Names and paths in it may hold anything; none of them begins a line that looks like ours.
  static func say(_ text: String) {
    write(text.escapingControls() + "\n")
  }

  /// Says a text that is several lines by itself, with nothing in it that others chose.
  static func sayLines(_ text: String) {
    write(text.escapingControls(keepingNewlines: true) + "\n")
  }

  /// Writes a text as it is.
  static func write(_ text: String) {
    // Nobody is left to be told that telling failed.
    try? System.write(text, to: STDERR_FILENO)
  }
}
