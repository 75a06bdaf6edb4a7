import Foundation
import SealedStore
import SessionToolsBase

/// The fingerprints of the stores that were made here for a recipient, or that a person accepted
/// when a recipient's key opened them, as ssh keeps the keys of hosts.
///
/// Each is a file of two lines, `fingerprint` and `store`, in
/// `$XDG_DATA_HOME/session-tools/known-stores`; its name is the hash of the second line.
struct KnownStores {
  /// A path has at most 4,096 bytes.
  private static let maximumByteCount = 8192

  /// Finds the fingerprint that is known for a store.
  ///
  /// - Parameter store: The path of a store, or the name of a store in a database.
  /// - Returns: The fingerprint; `nil` if none is known.
  /// - Throws: `corrupt` if the file is not one of two such lines, `unsafePermissions`,
  ///   `accessDenied` or `io`.
  func fingerprint(of store: String) throws(StoreError) -> StoreFingerprint? {
    let place = Self.place(of: store)
    let (directory, name) = (try directory(makingIfAbsent: false), Self.fileName(of: place))
    guard let directory,
      let (content, byteCount) = try directory.read(
        name, maximumByteCount: Self.maximumByteCount, .privateFile)
    else { return nil }
    let lines = String(decoding: content.bytes(0..<byteCount), as: UTF8.self)
      .split(separator: "\n", maxSplits: 1)
    guard lines.count == 2, lines[1] == place + "\n",
      let fingerprint = try? StoreFingerprint(String(lines[0]))
    else {
      let file = directory.pathOfFile(name)
      throw StoreError(
        .corrupt, store: file, reason: "this is not the fingerprint of \(place)",
        remedy: "Put the file back from a backup, or remove it to be asked again: rm "
          + file.shellQuoted)
    }
    return fingerprint
  }

  /// Keeps the fingerprint of a store, durably, in place of an earlier one.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied`, `noSpace`, `outcomeUnknown` or `io`.
  func keep(_ fingerprint: StoreFingerprint, of store: String) throws(StoreError) {
    guard let directory = try directory(makingIfAbsent: true) else { return }
    let place = Self.place(of: store)
    let content = ByteBuffer(Array("\(fingerprint)\n\(place)\n".utf8))
    let random = String(UInt64.random(in: .min ... .max), radix: 16)
    try directory.replace(Self.fileName(of: place), with: content, by: ".\(random)")
  }

  /// Forgets a store that is removed; call it before that.
  func forget(_ store: String) {
    // What is left says only what a store had that is gone.
    _ = try? directory(makingIfAbsent: false)?.remove(Self.fileName(of: Self.place(of: store)))
  }

  private func directory(makingIfAbsent: Bool) throws(StoreError) -> PrivateDirectory? {
    let path = "\(try UserDirectory.data.path)/session-tools/known-stores"
    let fileSystem = LinuxFileSystem()
    if makingIfAbsent {
      try fileSystem.makeDirectories(path)
    } else {
      do throws(SystemCallError) {
        if try fileSystem.status(of: path, in: .workingDirectory) == nil { return nil }
      } catch {
        throw StoreError(error, path: path)
      }
    }
    return try PrivateDirectory(path, .ownDirectory, followsLink: true, fileSystem: fileSystem)
  }

  /// Returns the same text for a store, wherever the tool is run.
  private static func place(of store: String) -> String {
    Files.isDirectory(store.withoutLinks) ? store.withoutLinks : store
  }

  private static func fileName(of place: String) -> String {
    let bytes = ByteBuffer(Array(place.utf8))
    return Sodium.hash16(bytes, 0..<bytes.byteCount, key: nil).hexadecimal
  }
}

extension KnownStores {
  /// Keeps the fingerprint of an open store if it is sealed to a recipient, so that the recipient's
  /// key opens it here later.
  ///
  /// A failure is reported and ends nothing: the store is made, and opens with `--expect`.
  static func remember(_ fingerprint: StoreFingerprint, of store: some SlotChanging) {
    do throws(StoreError) {
      guard try store.keySlots().contains(where: \.isRecipient) else { return }
      try KnownStores().keep(fingerprint, of: store.name)
    } catch {
      StandardError.complain(
        "\(store.name): its fingerprint could not be kept here: \(error.reason). "
          + "Note it: a recipient's key opens the store with --expect \(fingerprint)")
    }
  }

  /// Writes the fingerprint of a store that was made or changed here, and keeps it for the
  /// recipients.
  ///
  /// - Parameters:
  ///   - store: The store, open.
  ///   - old: The fingerprint that it had before.
  /// - Throws: `unavailable` if the system gives no memory.
  static func announce(
    _ store: some SlotChanging, insteadOf old: StoreFingerprint? = nil
  ) throws(StoreError) {
    let fingerprint = try store.fingerprint()
    if let old {
      StandardError.say(
        "\(store.name): the fingerprint is now \(fingerprint), and no longer \(old); everyone who "
          + "opens the store with a recipient's key needs it")
    } else {
      StandardError.say("\(store.name): fingerprint \(fingerprint)")
    }
    remember(fingerprint, of: store)
  }
}
