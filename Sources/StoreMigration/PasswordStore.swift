import Foundation
import SealedStore
import SessionToolsBase

/// The directory of `pass`, the standard Unix password manager, as the source of a migration.
///
/// Every file is an item of the service `pass`: its path without `.gpg` is the identifier, and its
/// entire content is the value. `gpg` opens the files, one process for each, and may ask for the
/// passphrase of its key in its own window.
package enum PasswordStore {
  /// The directory that `pass` uses: `$PASSWORD_STORE_DIR`, or `~/.password-store`.
  package static var standardPath: String {
    let environment = ProcessInfo.processInfo.environment
    return environment["PASSWORD_STORE_DIR"]
      ?? "\(UserDirectory.home(environment: environment))/.password-store"
  }

  /// Returns the items of a directory; reads nothing yet.
  ///
  /// - Parameter path: The directory.
  /// - Returns: The items; listing them throws `unavailable` when there is no such directory,
  ///   reading one `undecodable` when `gpg` does not open it, `valueTooLarge` when it has more than
  ///   16 MiB, and `timedOut` when `gpg` takes more than two minutes.
  package static func items(at path: String = standardPath) -> ReadOnlyItems {
    // The path may be a link to a directory that is synchronized with other machines.
    let path = path.withoutLinks
    return ReadOnlyItems(
      name: "pass \(path)", protection: "files of pass, encrypted by gpg; opens with its secret key"
    ) { () throws(StoreError) in
      try list(path)
    } read: { key throws(StoreError) in
      guard key.namespace == namespace else { return nil }
      let file = "\(path)/\(key.identifier).gpg"
      guard FileManager.default.fileExists(atPath: file) else { return nil }
      return try decrypt(file)
    }
  }

  private static let namespace: StoreNamespace = "pass"

  private static func list(_ path: String) throws(StoreError) -> StoreListing {
    var damage: StoreError?
    let root = URL(filePath: path)
    let walker = FileManager.default.enumerator(
      at: root, includingPropertiesForKeys: [.isSymbolicLinkKey], options: []
    ) { url, error in
      damage = unread(url.path, "it cannot be read", error)
      return true
    }
    // The walker reports no error for a directory that does not exist.
    guard let walker, FileManager.default.fileExists(atPath: "\(path)/.") else {
      throw StoreError(
        .unavailable, store: path, reason: "there is no pass directory here",
        remedy: "Give its path, or set PASSWORD_STORE_DIR")
    }
    var keys: [StoreKey] = []
    for case let url as URL in walker {
      let file = url.path.dropFirst(path.count + 1)
      // Files of git, and files that pass itself keeps.
      guard !file.split(separator: "/").contains(where: { $0.hasPrefix(".") }) else { continue }
      do {
        let isLink = try url.resourceValues(forKeys: [.isSymbolicLinkKey]).isSymbolicLink == true
        if isLink, FileManager.default.fileExists(atPath: "\(url.path)/.") {
          damage = unread(url.path, "it is a link to a directory", nil)
        } else if file.hasSuffix(".gpg") {
          keys.append(try StoreKey(String(file.dropLast(4)), in: namespace))
        }
      } catch {
        damage = unread(url.path, "it cannot be an item", error)
      }
    }
    return StoreListing(keys: keys.sorted(), damage: damage)
  }

  private static func unread(
    _ path: String, _ reason: String, _ error: (any Error)?
  ) -> StoreError {
    StoreError(
      .undecodable, store: path, reason: reason,
      remedy: "Migrate it by its own path, pass:\(path)", underlying: error)
  }

  /// Longer than a person needs to type the passphrase of a key.
  private static let timeout = Duration.seconds(120)
  /// No store takes a larger value; a file of some kilobytes may expand to a thousand times that.
  private static let largestValueByteCount = SealedFileStore.largestValueByteCount

  private static func decrypt(_ file: String) throws(StoreError) -> SecretBytes {
    let gpg = LimitedProgram(
      "gpg", ["--quiet", "--batch", "--decrypt", "--", file],
      largestOutputByteCount: largestValueByteCount, timeout: timeout)
    let ending: LimitedProgram.Ending
    do throws(SystemCallError) {
      ending = try gpg.run()
    } catch let error where error.errno == SystemCallError.noSuchFile {
      throw StoreError(
        .unavailable, store: file, reason: "gpg is not installed",
        remedy: "Install it: apt-get install gnupg", errno: error.errno)
    } catch {
      throw StoreError(
        .io, store: file,
        reason: "gpg cannot be run: \(CurrentProcess.message(for: error.errno))",
        errno: error.errno)
    }
    switch ending {
    case .ended(status: 0, let value, _): return value
    case .ended(_, _, let complaint): throw failure(file, complaint)
    case .wroteTooMuch:
      throw StoreError(
        .valueTooLarge, store: file,
        reason: "its value has more than \(largestValueByteCount) bytes, which no store takes",
        remedy: "Keep it where it is")
    case .tookTooLong:
      throw StoreError(
        .timedOut, store: file,
        reason: "gpg did not open it within \(timeout.components.seconds) seconds",
        remedy: "Make sure that gpg --decrypt opens it, and try again")
    }
  }

  private static func failure(_ file: String, _ complaint: String) -> StoreError {
    let reason = complaint.split(separator: "\n").last.map(String.init) ?? "no reason given"
    return StoreError(
      .undecodable, store: file, reason: "gpg cannot open it: \(reason)",
      remedy: "Make sure that gpg --decrypt opens it")
  }
}
