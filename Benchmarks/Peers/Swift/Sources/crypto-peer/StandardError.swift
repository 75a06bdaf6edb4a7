import Glibc

/// Where failures are told.
enum StandardError {
  /// Says something in a line of its own.
  static func say(_ text: String) {
    let line = Array("\(text)\n".utf8)
    // Nobody is left to be told that telling failed.
    _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
  }
}
