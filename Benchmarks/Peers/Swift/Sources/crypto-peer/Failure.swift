import Glibc

/// A reason for the program to end with a status other than 0.
enum Failure: Error {
  /// The arguments are invalid.
  case usage
  /// An item is missing, was changed, or has another value.
  case lost(identifier: String)
  /// An operation failed for the given reason.
  case failed(String, reason: String)

  /// The status of the program, by the protocol.
  var status: Int32 {
    switch self {
    case .usage: 2
    case .lost: 3
    case .failed: 1
    }
  }

  /// Returns the text for stderr.
  func text(by program: String) -> String {
    switch self {
    case .usage: Command.usage
    case .lost(let identifier): "\(program): \(identifier) is lost"
    case .failed(let what, let reason): "\(program): \(what): \(reason)"
    }
  }
}

/// The program's output of failures.
enum StandardError {
  /// Prints a text followed by a newline.
  static func say(_ text: String) {
    let line = Array("\(text)\n".utf8)
    // A failure to write to stderr cannot be reported.
    _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
  }
}
