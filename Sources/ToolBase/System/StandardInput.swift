import Glibc
package import SessionToolsBase

/// Standard input, from which values are read.
package enum StandardInput {
  package static let isTerminal = System.isTerminal(STDIN_FILENO)

  /// Reads a value byte for byte.
  ///
  /// - Throws: `valueTooLarge`, or `io` if it cannot be read.
  package static func readValue(atMost maximumByteCount: Int) throws(StoreError) -> SecretBytes {
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
