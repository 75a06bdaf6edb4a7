package import StoreMigration
import Foundation
import SecretStores

/// The directory of `pass`, the standard Unix password manager, as the source of a migration.
///
/// Every file `*.gpg` is an item of the service `pass`: its path without `.gpg` is the identifier,
/// as `pass` shows it, and its entire content is the value. `gpg` opens the files, one process for
/// each, run as `pass` runs it, and may ask for the passphrase of its key.
package enum PasswordStore {
  /// The directory that `pass` uses: `$PASSWORD_STORE_DIR`, or `~/.password-store`.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  package static var standardPath: String {
    get throws(StoreError) {
      let environment = ProcessInfo.processInfo.environment
      // An empty variable counts as absent, as it does for pass.
      if let path = environment["PASSWORD_STORE_DIR"], !path.isEmpty { return path }
      return try UserDirectory.home(or: "PASSWORD_STORE_DIR") + "/.password-store"
    }
  }

  static let namespace: StoreNamespace = "pass"

  /// Returns the items of a directory; reads nothing yet.
  ///
  /// Listing them throws `unavailable` when there is no such directory, `accessDenied` or `io` when
  /// it cannot be read, and `undecodable` when it has more than 10,000 other files in front of the
  /// first entry.
  ///
  /// Reading one throws `undecodable` when `gpg` does not open it, `valueTooLarge` when it has more
  /// than 16 MiB, `timedOut` when `gpg` takes more than two minutes, `cancelled` when Ctrl-C ended
  /// it, and `unavailable` when it is not installed. Once a key was of no use, such as one whose
  /// passphrase was not given, no further file is tried for which that key is needed.
  ///
  /// - Parameter path: The directory.
  /// - Returns: The items.
  package static func items(at path: String) -> ReadOnlyItems {
    // The path may be a link to a directory that is synchronized with other machines.
    let path = path.withoutLinks
    let opener = PasswordFileOpener()
    return ReadOnlyItems(
      name: "pass \(path)", protection: "files of pass, encrypted by gpg; opens with its secret key"
    ) { () throws(StoreError) in
      try PasswordStoreListing.list(path)
    } read: { name throws(StoreError) in
      guard name.namespace == namespace else { return nil }
      let file = "\(path)/\(name.identifier).gpg"
      guard FileManager.default.fileExists(atPath: file) else { return nil }
      return try opener.value(of: file)
    }
  }
}
