import Glibc
import SealedStore
import SessionToolsBase
import Synchronization

/// Standard output, which takes data and nothing else.
enum StandardOutput {
  static let isTerminal = System.isTerminal(STDOUT_FILENO)

  /// The width of the terminal in characters, as it is now; `nil` if it is not known.
  static var columnCount: Int? { System.columnCount(of: STDOUT_FILENO) }

  /// Writes a text as it is.
  ///
  /// - Throws: `io`; if the reader is gone, the process ends instead, like other programs.
  static func write(_ text: String) throws(StoreError) {
    try calling { () throws(SystemCallError) in try System.write(text, to: STDOUT_FILENO) }
  }

  /// Writes a value byte for byte.
  ///
  /// - Throws: As ``write(_:)-(String)``.
  static func write(_ secret: SecretBytes) throws(StoreError) {
    try calling { () throws(SystemCallError) in try System.write(secret, to: STDOUT_FILENO) }
  }

  private static func calling(_ call: () throws(SystemCallError) -> Void) throws(StoreError) {
    do throws(SystemCallError) {
      try call()
    } catch let error where error.errno == EPIPE {
      System.dieOfBrokenPipe()
    } catch {
      // Unlike an error of a store: the work is done, and only its output is missing.
      throw StoreError(
        .io, store: "standard output",
        reason: "\(error.failure): \(CurrentProcess.message(for: error.errno))", errno: error.errno)
    }
  }
}

/// Standard input, from which values are read.
enum StandardInput {
  static let isTerminal = System.isTerminal(STDIN_FILENO)

  /// Reads a value byte for byte.
  ///
  /// - Throws: `valueTooLarge`, or `io` if it cannot be read.
  static func readValue(atMost maximumByteCount: Int) throws(StoreError) -> SecretBytes {
    do throws(SystemCallError) {
      if let value = try System.readAll(STDIN_FILENO, atMost: maximumByteCount) { return value }
    } catch {
      throw StoreError(error, path: "standard input")
    }
    throw StoreError(
      .valueTooLarge, store: "standard input",
      reason: "the value has more than \(maximumByteCount) bytes",
      remedy: "Store it in parts, or store the key of a file that you encrypt yourself")
  }
}

/// Messages to the person: errors, notices, progress.
enum StandardError {
  static let isTerminal = System.isTerminal(STDERR_FILENO)

  /// The width of the terminal in characters, as it is now; `nil` if it is not known.
  static var columnCount: Int? { System.columnCount(of: STDERR_FILENO) }

  /// Writes a message as one line; on a terminal of known width, as lines that are broken between
  /// words.
  ///
  /// Names and paths in it may contain anything, but they cannot begin a line that looks like one
  /// of the tool's: the lines after the first one are indented.
  static func say(_ text: String) {
    clearProgress()
    let text = text.escapingControls()
    let lines = isTerminal ? columnCount.map { text.wrapped(to: $0, indentation: 2) } : nil
    write((lines ?? [text]).joined(separator: "\n") + "\n")
  }

  /// Writes a message as ``say(_:)`` does, behind the tool's name.
  ///
  /// What was typed may have been an address with a password, and errors repeat what was typed.
  static func complain(_ text: String) { say("session-tools: \(text.withoutPasswords)") }

  /// Writes a text of several lines, whose newlines stay; all other controls are escaped.
  static func sayLines(_ text: String) {
    clearProgress()
    write(text.escapingControls(keepingNewlines: true) + "\n")
  }

  /// Whether the terminal's last line shows progress, which the next message replaces.
  private static let showsProgress = Atomic(false)

  /// Shows progress in the terminal's last line, in place of what it shows now.
  static func show(progress text: String) {
    showsProgress.store(true, ordering: .relaxed)
    write("\r\(text)\u{1b}[K")
  }

  /// Clears the line that shows progress, if there is one.
  static func clearProgress() {
    guard showsProgress.exchange(false, ordering: .relaxed) else { return }
    write("\r\u{1b}[K")
  }

  /// Writes a text as it is.
  static func write(_ text: String) {
    // There is no way left to report that writing failed.
    try? System.write(text, to: STDERR_FILENO)
  }
}

/// The notices of a store about what it repaired or found.
enum Notices {
  /// Writes a notice to standard error.
  static let report: @Sendable (StoreNotice) -> Void = { notice in
    StandardError.complain("\(notice)")
  }
}

extension String {
  /// The text without passwords in addresses, whatever form the address has.
  var withoutPasswords: String {
    guard contains("@") || lowercased().contains("password") else { return self }
    let inAddress = /([a-z][a-z0-9+.\-]*:\/*[^\s:@\/]*):\S*@/.ignoresCase()
    return replacing(inAddress) { "\($0.1):…@" }
      .replacing(/password\s*=\s*('[^']*'?|[^\s&]+)/.ignoresCase(), with: "password=…")
  }
}
