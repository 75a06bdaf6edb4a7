import Glibc

/// The program's output of failures.
enum StandardError {
  /// Prints a text followed by a newline.
  static func say(_ text: String) {
    let line = Array("\(text)\n".utf8)
    // A failure to write to stderr cannot be reported.
    _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
  }
}
