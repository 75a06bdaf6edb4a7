import Foundation
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
  ///   reading one `undecodable` when `gpg` does not open it.
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

  private static func decrypt(_ file: String) throws(StoreError) -> SecretBytes {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["gpg", "--quiet", "--batch", "--decrypt", "--", file]
    let (output, complaint) = (Pipe(), Pipe())
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = complaint
    do {
      try process.run()
      // It says little, so it never waits for somebody to read this while the value is read.
      let value = try output.fileHandleForReading.readToEnd() ?? Data()
      let reason = try complaint.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw failure(
          file, process.terminationStatus, String(decoding: reason, as: UTF8.self))
      }
      return SecretBytes(value)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(
        StoreError.io, store: file, reason: "gpg cannot be run", underlying: error)
    }
  }

  private static func failure(_ file: String, _ status: Int32, _ complaint: String) -> StoreError {
    if status == 127 {
      return StoreError(
        StoreError.unavailable, store: file, reason: "there is no gpg",
        remedy: "Install it: apt-get install gnupg")
    }
    let reason = complaint.split(separator: "\n").last.map(String.init) ?? "no reason given"
    return StoreError(
      StoreError.undecodable, store: file, reason: "gpg does not open it: \(reason)",
      remedy: "See that gpg --decrypt opens it")
  }
}
