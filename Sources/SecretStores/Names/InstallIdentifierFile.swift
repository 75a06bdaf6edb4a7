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
        .invalidName, store: Self.name,
        reason: "the application name cannot be the name of a directory",
        remedy: "Give 1 to 255 bytes without \"/\", not \".\" or \"..\"")
    }
    guard stateDirectory.hasPrefix("/") else {
      throw StoreError(
        .unavailable, store: Self.name,
        reason: "the state directory \(stateDirectory) is not an absolute path",
        remedy: "Set XDG_STATE_HOME or HOME to an absolute path")
    }
    directory = "\(stateDirectory)/\(application)"
    self.fileSystem = fileSystem
  }

  private var path: String { "\(directory)/\(Self.name)" }

  /// Returns the identifier in the file, which is created if it does not exist.
  func obtain() throws(StoreError) -> InstallIdentifier {
    try fileSystem.makeDirectories(directory)
    let directory = try PrivateDirectory(
      directory, .ownDirectory, followsLink: true, fileSystem: fileSystem)
    if let identifier = try read(in: directory) {
      // Its maker removes its other name once both are durable.
      if try directory.status(of: Self.name)?.linkCount != 1 { try directory.synchronize() }
      return identifier
    }
    return try make(in: directory)
  }

  private func read(in directory: PrivateDirectory) throws(StoreError) -> InstallIdentifier? {
    // While it is being created it has two names.
    let found = try directory.read(
      Self.name, maximumByteCount: Self.digitCount + 1, .privateFile)
    guard let (content, byteCount) = found else { return nil }
    let digits = content.bytes(0..<min(byteCount, Self.digitCount))
    guard byteCount == Self.digitCount + 1,
      content.load(UInt8.self, at: Self.digitCount) == UInt8(ascii: "\n"),
      digits.allSatisfy(Self.digits.contains)
    else { throw corrupt("it does not hold an install identifier") }
    return InstallIdentifier(rawValue: String(decoding: digits, as: UTF8.self))
  }

  private func make(in directory: PrivateDirectory) throws(StoreError) -> InstallIdentifier {
    let digits = Self.randomDigits()
    let temporaryName = ".\(Self.name).\(String(decoding: Self.randomDigits(), as: UTF8.self))"
    let isOurs: Bool
    do throws(StoreError) {
      let file = try directory.create(temporaryName)
      try file.write(ByteBuffer(digits + [UInt8(ascii: "\n")]), 0..<digits.count + 1, at: 0)
      try file.synchronize()
      isOurs = try directory.link(temporaryName, to: Self.name)
    } catch {
      directory.discard(temporaryName)
      throw error
    }
    // The losers do this too: the winner may not have synced yet.
    try directory.synchronize()
    try directory.remove(temporaryName)
    if isOurs { return InstallIdentifier(rawValue: String(decoding: digits, as: UTF8.self)) }
    guard let made = try read(in: directory) else {
      throw StoreError(
        .unavailable, store: path, reason: "it was removed while it was being created",
        remedy: "Try again")
    }
    return made
  }

  private func corrupt(_ reason: String) -> StoreError {
    StoreError(
      .corrupt, store: path, reason: reason,
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
