import Glibc
import SessionToolsBase
import Synchronization

/// Messages to the person: errors, notices, progress.
package enum StandardError {
  package static let isTerminal = System.isTerminal(STDERR_FILENO)

  /// The width of the terminal in characters, as it is now; `nil` if it is not known.
  static var columnCount: Int? { System.columnCount(of: STDERR_FILENO) }

  /// Writes a message as one line; on a terminal of known width, as lines that are broken between
  /// words.
  ///
  /// Names and paths in it may contain anything, but they cannot begin a line that looks like one
  /// of the tool's: the lines after the first one are indented.
  package static func say(_ text: String) {
    clearProgress()
    let text = text.escapingControls()
    let lines = isTerminal ? columnCount.map { text.wrapped(to: $0, indentation: 2) } : nil
    write((lines ?? [text]).joined(separator: "\n") + "\n")
  }

  /// Writes a message as ``say(_:)`` does, behind the tool's name.
  package static func complain(_ text: String) { say("\(ToolName.current): \(text)") }

  /// Writes a text of several lines, whose newlines stay; all other controls are escaped.
  package static func sayLines(_ text: String) {
    clearProgress()
    write(text.escapingControls(keepingNewlines: true) + "\n")
  }

  /// Whether the terminal's last line shows progress, which the next message replaces.
  private static let showsProgress = Atomic(false)

  /// Shows progress in the terminal's last line, in place of what it shows now.
  package static func show(progress text: String) {
    showsProgress.store(true, ordering: .relaxed)
    write("\r\(text)\u{1b}[K")
  }

  /// Clears the line that shows progress, if there is one.
  static func clearProgress() {
    guard showsProgress.exchange(false, ordering: .relaxed) else { return }
    write("\r\u{1b}[K")
  }

  /// Writes a text as it is.
  package static func write(_ text: String) {
    // There is no way left to report that writing failed.
    try? System.write(text, to: STDERR_FILENO)
  }
}
