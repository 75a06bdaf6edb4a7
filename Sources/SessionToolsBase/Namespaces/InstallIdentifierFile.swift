/// The file that keeps an installation's identifier: 32 hexadecimal digits ‖ line feed, in a
/// directory of the application.
///
/// It is written under a temporary name and then linked to the final one, which fails if that
/// exists. So it is complete as soon as it is visible, and of several processes that race one wins
/// and the others read its file.
struct InstallIdentifierFile {
  private static let name = "install-identifier"
  private static let digitCount = 32

  private let directory: String
  private let fileSystem: any FileSystem

  init(
    application: String, stateDirectory: String,
    fileSystem: any FileSystem = LinuxFileSystem()
  ) throws(StoreError) {
    let bytes = application.utf8
    guard (1...255).contains(bytes.count), application != ".", application != "..",
      !bytes.contains(UInt8(ascii: "/")), !bytes.contains(0)
    else {
      throw StoreError(
        StoreError.invalidName, store: Self.name,
        reason: "the application name cannot be the name of a directory",
        remedy: "Give 1 to 255 bytes without \"/\", not \".\" or \"..\"")
    }
    guard stateDirectory.hasPrefix("/") else {
      throw StoreError(
        StoreError.unavailable, store: Self.name,
        reason: "the state directory \(stateDirectory) is not an absolute path",
        remedy: "Set XDG_STATE_HOME or HOME to an absolute path")
    }
    directory = "\(stateDirectory)/\(application)"
    self.fileSystem = fileSystem
  }

  private var path: String { "\(directory)/\(Self.name)" }

  /// Returns the identifier in the file, which is created if it does not exist.
  func obtain() throws(StoreError) -> InstallIdentifier {
    let result: Result<InstallIdentifier, StoreError>
    do throws(SystemCallError) {
      try fileSystem.makeDirectories(directory)
      // The dot follows a link in the directory's place: its target is checked.
      let directory = try fileSystem.openDirectory(self.directory + "/.")
      defer { fileSystem.close(directory) }
      let status = try fileSystem.status(of: directory)
      if let defect = defect(of: status, forbidden: 0o022, path: self.directory) {
        result = .failure(defect)
      } else if let found = try read(in: directory) {
        result = found
      } else {
        result = try make(in: directory)
      }
    } catch {
      throw StoreError(error, path: path)
    }
    return try result.get()
  }

  private func read(
    in directory: Descriptor
  ) throws(SystemCallError) -> Result<InstallIdentifier, StoreError>? {
    let file: Descriptor
    do throws(SystemCallError) {
      file = try fileSystem.open(Self.name, in: directory, .read)
    } catch let error where error.errno == SystemCallError.noSuchFile {
      return nil
    }
    defer { fileSystem.close(file) }
    let status = try fileSystem.status(of: file)
    guard status.kind == .regular else {
      return .failure(corrupt("it is not a regular file"))
    }
    if let defect = defect(of: status, forbidden: 0o077, path: path) { return .failure(defect) }
    let buffer = ByteBuffer(byteCount: Self.digitCount + 2)
    let byteCount = try fileSystem.read(file, at: 0, into: buffer, 0..<buffer.byteCount)
    let digits = buffer.bytes(0..<Self.digitCount)
    guard byteCount == Self.digitCount + 1,
      buffer.load(UInt8.self, at: Self.digitCount) == UInt8(ascii: "\n"),
      digits.allSatisfy(Self.digits.contains)
    else { return .failure(corrupt("it does not hold an install identifier")) }
    return .success(InstallIdentifier(rawValue: String(decoding: digits, as: UTF8.self)))
  }

  private func make(
    in directory: Descriptor
  ) throws(SystemCallError) -> Result<InstallIdentifier, StoreError> {
    let digits = Self.randomDigits()
    let temporaryName = ".\(Self.name).\(String(decoding: Self.randomDigits(), as: UTF8.self))"
    var isOurs = true
    do throws(SystemCallError) {
      try write(digits + [UInt8(ascii: "\n")], to: temporaryName, in: directory)
      do throws(SystemCallError) {
        try fileSystem.link(temporaryName, to: Self.name, in: directory)
      } catch let error where error.errno == SystemCallError.fileExists {
        isOurs = false
      }
    } catch {
      // The first error says more than one of the clean-up could.
      try? fileSystem.remove(temporaryName, in: directory)
      throw error
    }
    try fileSystem.remove(temporaryName, in: directory)
    // The losers do this too: the winner may not have synced yet.
    try fileSystem.synchronize(directory)
    if isOurs {
      return .success(InstallIdentifier(rawValue: String(decoding: digits, as: UTF8.self)))
    }
    let removed = StoreError(
      StoreError.unavailable, store: path, reason: "it was removed while it was being created",
      remedy: "Try again")
    return try read(in: directory) ?? .failure(removed)
  }

  private func write(
    _ bytes: [UInt8], to name: String, in directory: Descriptor
  ) throws(SystemCallError) {
    let file = try fileSystem.open(name, in: directory, .create)
    defer { fileSystem.close(file) }
    let buffer = ByteBuffer(bytes)
    try fileSystem.writeAll(buffer, 0..<buffer.byteCount, to: file, at: 0)
    try fileSystem.synchronize(file)
  }

  private func defect(of status: FileStatus, forbidden: UInt32, path: String) -> StoreError? {
    guard status.owner == CurrentProcess.user else {
      return StoreError(
        StoreError.unsafePermissions, store: path, reason: "it belongs to another user",
        remedy: "Remove it, or make this user its owner")
    }
    guard status.permissions & forbidden != 0 else { return nil }
    return StoreError(
      StoreError.unsafePermissions, store: path,
      reason: "others may write it (mode \(status.permissions.octal))",
      remedy: "Run chmod go-\(forbidden == 0o022 ? "w" : "rwx") \(path.shellQuoted)")
  }

  private func corrupt(_ reason: String) -> StoreError {
    StoreError(
      StoreError.corrupt, store: path, reason: reason,
      remedy: "Restore it, or remove it to begin a new installation and adopt the old items")
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
