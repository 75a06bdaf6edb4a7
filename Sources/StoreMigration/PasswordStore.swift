import Foundation
import SealedStore
import SessionToolsBase

/// The directory of `pass`, the standard Unix password manager, to be migrated.
///
/// Every file is an item of the service `pass`, its path without `.gpg` the identifier, and all that
/// is in it the value. `gpg` opens them, one process for each, and may ask for the passphrase of its
/// key in its own window.
public enum PasswordStore {
  /// The directory that `pass` uses: `$PASSWORD_STORE_DIR`, or `~/.password-store`.
  public static var standardPath: String {
    let environment = ProcessInfo.processInfo.environment
    return environment["PASSWORD_STORE_DIR"]
      ?? "\(UserDirectory.home(environment: environment))/.password-store"
  }

  /// The items of a directory; nothing is read yet.
  ///
  /// - Parameter path: The directory.
  /// - Returns: The items; listing them throws `unavailable` when there is no such directory,
  ///   reading one `undecodable` when `gpg` does not open it, `valueTooLarge` when it has more than
  ///   16 MiB, and `timedOut` when `gpg` takes more than two minutes.
  public static func items(at path: String = standardPath) -> ReadOnlyItems {
    // It may be a link to where it is kept in step with other machines.
    let path = URL(filePath: path).resolvingSymlinksInPath().standardizedFileURL.path
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

  private static let namespace: Namespace = "pass"

  private static func list(_ path: String) throws(StoreError) -> StoreListing {
    var damage: StoreError?
    let root = URL(filePath: path)
    let walker = FileManager.default.enumerator(
      at: root, includingPropertiesForKeys: [.isSymbolicLinkKey], options: []
    ) { url, error in
      damage = unread(url.path, "it cannot be read", error)
      return true
    }
    // Of a directory that is not there the walker says nothing.
    guard let walker, FileManager.default.fileExists(atPath: "\(path)/.") else {
      throw StoreError(
        StoreError.unavailable, store: path, reason: "there is no directory of pass here",
        remedy: "Name it, or set PASSWORD_STORE_DIR")
    }
    var keys: [StoreKey] = []
    for case let url as URL in walker {
      let file = url.path.dropFirst(path.count + 1)
      // git's, and what pass itself keeps.
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
      StoreError.undecodable, store: path, reason: reason,
      remedy: "Migrate it by its own path, pass:\(path)", underlying: error)
  }

  /// Longer than a person needs for the passphrase of a key.
  private static let timeout = Duration.seconds(120)
  /// No store takes a larger one; a file of some kilobytes may well have a thousand times as much.
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
        StoreError.unavailable, store: file, reason: "there is no gpg",
        remedy: "Install it: apt-get install gnupg", errno: error.errno)
    } catch {
      throw StoreError(
        StoreError.io, store: file,
        reason: "gpg cannot be run: \(CurrentProcess.message(for: error.errno))",
        errno: error.errno)
    }
    switch ending {
    case .ended(status: 0, let value, _): return value
    case .ended(_, _, let complaint): throw failure(file, complaint)
    case .wroteTooMuch:
      throw StoreError(
        StoreError.valueTooLarge, store: file,
        reason: "its value has more than \(largestValueByteCount) bytes, which no store takes",
        remedy: "Leave it where it is")
    case .tookTooLong:
      throw StoreError(
        StoreError.timedOut, store: file,
        reason: "gpg did not open it within \(timeout.components.seconds) seconds",
        remedy: "See that gpg --decrypt opens it, and try again")
    }
  }

  private static func failure(_ file: String, _ complaint: String) -> StoreError {
    let reason = complaint.split(separator: "\n").last.map(String.init) ?? "no reason given"
    return StoreError(
      StoreError.undecodable, store: file, reason: "gpg does not open it: \(reason)",
      remedy: "See that gpg --decrypt opens it")
  }
}
