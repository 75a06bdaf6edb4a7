import Glibc
import SessionToolsBase

/// Data, and nothing else.
enum StandardOutput {
  static let isTerminal = System.isTerminal(STDOUT_FILENO)

  /// Writes a text as it is.
  ///
  /// - Throws: `io`; a reader who went away ends the process instead, as it does others.
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
      // Not as for a store: what was asked for has been done, only not told.
      throw StoreError(
        StoreError.io, store: "standard output",
        reason: "\(error.call): \(CurrentProcess.message(for: error.errno))", errno: error.errno)
    }
  }
}
