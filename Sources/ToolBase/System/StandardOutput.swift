import Glibc
package import SessionToolsBase

/// Standard output, which takes data and nothing else.
package enum StandardOutput {
  package static let isTerminal = System.isTerminal(STDOUT_FILENO)

  /// The width of the terminal in characters, as it is now; `nil` if it is not known.
  static var columnCount: Int? { System.columnCount(of: STDOUT_FILENO) }

  /// Writes a text as it is.
  ///
  /// - Throws: `io`; if the reader is gone, the process ends instead, like other programs.
  package static func write(_ text: String) throws(StoreError) {
    try calling { () throws(SystemCallError) in try System.write(text, to: STDOUT_FILENO) }
  }

  /// Writes a value byte for byte.
  ///
  /// - Throws: As ``write(_:)-(String)``.
  package static func write(_ secret: SecretBytes) throws(StoreError) {
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
