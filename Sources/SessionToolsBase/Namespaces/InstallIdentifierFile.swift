/// The file that keeps an installation's identifier: 32 hexadecimal digits ‖ line feed, in a
/// directory of the application.
///
/// It is written under a name of its own and then linked to the final one, which fails where
/// that exists. So it is complete from the moment it can be seen, and of several processes
/// that race one wins and the others read what it wrote.
struct InstallIdentifierFile {
  private static let name = "install-identifier"
  private static let digitCount = 32

  private let directory: String

  init(application: String, stateDirectory: StateDirectory) throws(StoreError) {
    let bytes = application.utf8
    guard (1...255).contains(bytes.count), application != ".", application != "..",
      !bytes.contains(UInt8(ascii: "/")), !bytes.contains(0)
    else {
      throw StoreError(
        StoreError.invalidName, store: Self.name,
        reason: "the application name cannot be the name of a directory",
        remedy: "Give 1 to 255 bytes without \"/\", not \".\" or \"..\"")
    }
    guard stateDirectory.path.hasPrefix("/") else {
      throw StoreError(
        StoreError.unavailable, store: Self.name,
        reason: "the state directory \(stateDirectory.path) is not an absolute path",
        remedy: "Set XDG_STATE_HOME or HOME to one")
    }
    directory = stateDirectory.path + "/" + application
  }

  private var path: String { directory + "/" + Self.name }

  /// The identifier in the file, which is made if there is none.
  func obtain() throws(StoreError) -> InstallIdentifier {
    do {
      try OpenFile.makeDirectories(directory)
      let directory = try OpenFile(directory: directory)
      try checkOwnership(of: try directory.status(), isPrivate: false, path: self.directory)
      return try read(in: directory) ?? make(in: directory)
    } catch let failure as SystemCallFailure {
      throw storeError(for: failure)
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(StoreError.io, store: path, reason: "it failed", underlying: error)
    }
  }

  private func read(in directory: borrowing OpenFile) throws -> InstallIdentifier? {
    guard let file = try directory.openForReading(Self.name) else { return nil }
    let status = try file.status()
    guard status.isRegularFile else {
      throw StoreError(StoreError.corrupt, store: path, reason: "it is not a regular file")
    }
    try checkOwnership(of: status, isPrivate: true, path: path)
    let bytes = try file.read(upTo: Self.digitCount + 2)
    guard bytes.count == Self.digitCount + 1, bytes.last == UInt8(ascii: "\n"),
      bytes.dropLast().allSatisfy({ Self.digits.contains($0) })
    else {
      throw StoreError(
        StoreError.corrupt, store: path,
        reason: "it does not hold an install identifier",
        remedy: "Restore it, or remove it to begin a new installation and adopt the old items")
    }
    return InstallIdentifier(rawValue: String(decoding: bytes.dropLast(), as: UTF8.self))
  }

  private func make(in directory: borrowing OpenFile) throws -> InstallIdentifier {
    let digits = Self.randomDigits()
    let temporaryName = ".\(Self.name)." + String(decoding: Self.randomDigits(), as: UTF8.self)
    let isOurs: Bool
    do {
      let file = try directory.createExclusively(temporaryName)
      try file.write(digits + [UInt8(ascii: "\n")])
      try file.synchronize()
      isOurs = try directory.link(temporaryName, as: Self.name)
    } catch {
      // The first error tells more than one of the clean-up could.
      try? directory.unlink(temporaryName)
      throw error
    }
    try directory.unlink(temporaryName)
    // Also by those who lost: the winner may not have come to it yet.
    try directory.synchronize()
    if isOurs { return InstallIdentifier(rawValue: String(decoding: digits, as: UTF8.self)) }
    guard let winner = try read(in: directory) else {
      throw StoreError(
        StoreError.unavailable, store: path, reason: "it was removed while it was made",
        remedy: "Try again")
    }
    return winner
  }

  private func checkOwnership(
    of status: FileStatus, isPrivate: Bool, path: String
  ) throws(StoreError) {
    guard status.belongsToThisUser else {
      throw StoreError(
        StoreError.unsafePermissions, store: path, reason: "it belongs to another user",
        remedy: "Remove it or make it yours")
    }
    let forbidden: UInt32 = isPrivate ? 0o077 : 0o022
    guard status.permissions & forbidden == 0 else {
      throw StoreError(
        StoreError.unsafePermissions, store: path,
        reason: isPrivate
          ? "others may read or write it, its mode is \(octal(status.permissions))"
          : "others may write in it, its mode is \(octal(status.permissions))",
        remedy: "Take the rights away: chmod go-\(isPrivate ? "rwx" : "w")")
    }
  }

  private func octal(_ permissions: UInt32) -> String {
    "0" + String(permissions, radix: 8)
  }

  private func storeError(for failure: SystemCallFailure) -> StoreError {
    StoreError(
      failure.code, store: path, reason: "\(failure.call) failed: \(failure.message)",
      remedy: failure.isLink ? "A symbolic link is not followed here: remove it" : nil,
      errno: failure.errno)
  }

  // MARK: - Digits

  private static let digits = Array("0123456789abcdef".utf8)

  private static func randomDigits() -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<digitCount).map { _ in
      digits[Int(generator.next(upperBound: UInt(digits.count)))]
    }
  }
}
