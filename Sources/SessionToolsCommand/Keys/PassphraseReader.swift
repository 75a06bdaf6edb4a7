import Foundation
import SealedStore
import SessionToolsBase

/// Passphrases from files and descriptors; one newline at the end is ignored.
enum PassphraseReader {
  /// Reads a file that no other user may read, or a descriptor with a path such as `/dev/fd/3`.
  ///
  /// A file in `$CREDENTIALS_DIRECTORY` may be root's, as systemd makes it.
  ///
  /// - Throws: As `KeyFile` for files.
  static func read(file path: String) throws(StoreError) -> SecretBytes {
    if let number = descriptor(in: path) { return try read(descriptor: number) }
    let credentials = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]
    let isCredential = credentials.map { !$0.isEmpty && path.hasPrefix("\($0)/") } ?? false
    return try SecretFile.read(
      path, maximumByteCount: Passphrase.maximumByteCount + 1,
      rule: isCredential ? .credential : .privateFile
    ).withoutNewline
  }

  /// Reads a descriptor to its end.
  ///
  /// - Throws: `invalidKey` if it is too long for a passphrase, `io` if it cannot be read.
  static func read(descriptor number: Int32) throws(StoreError) -> SecretBytes {
    let name = "file descriptor \(number)"
    do throws(SystemCallError) {
      let largest = Passphrase.maximumByteCount + 1
      if let passphrase = try System.readAll(number, atMost: largest) {
        return passphrase.withoutNewline
      }
    } catch {
      throw StoreError(error, path: name)
    }
    throw StoreError(
      .invalidKey, store: name, reason: "the passphrase is too long",
      remedy: "Give one of at most \(Passphrase.maximumByteCount) bytes")
  }

  /// Returns the number in `/dev/fd/3`, the form that a shell gives to `<(command)`.
  static func descriptor(in path: String) -> Int32? {
    if path == "/dev/stdin" { return 0 }
    let prefix = "/dev/fd/"
    return path.hasPrefix(prefix) ? Int32(path.dropFirst(prefix.count)) : nil
  }
}
