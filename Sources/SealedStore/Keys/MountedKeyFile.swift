import Glibc
public import SecretStores

/// A key in a file that was mounted for the program: a secret of Kubernetes, Docker or Podman.
///
/// The file has 32 bytes, or their Base64, perhaps with a newline, as `openssl rand -base64 32`
/// prints them. It is read each time a store is opened, and never made or changed. To replace the
/// key, add a slot with the new one, change the secret, and remove the old slot.
///
/// The file, the directory that its path names, and a link in it belong to root or to this user,
/// and no one else may write them; in a sticky directory, such as a volume of Kubernetes, others
/// may make names. Where a link leads is its owner's choice. A file that is not mounted is a
/// ``KeyFile``, whose rules are stricter.
public struct MountedKeyFile: KeySource, SlotMaker {
  /// Who may read the file besides its owner.
  public enum Readers: Sendable, Hashable {
    /// The file's group, as with `fsGroup` in Kubernetes.
    case group
    /// Every process that sees the file, as with Docker's mode 0444: for a container in which each
    /// may open the store.
    case everyone
  }

  /// The path of the file, or of a link to it.
  public let path: String
  private let readers: Readers

  /// Names a file, which is read each time a store is opened with it.
  public init(_ path: String, readers: Readers = .group) {
    self.path = path
    self.readers = readers
  }

  /// Returns the file's key for every raw key slot, whatever its label.
  ///
  /// Waits up to 0.1 s while what a link leads to is being replaced.
  ///
  /// - Throws: `keyMissing` when there is no such file, `unsafePermissions` when others could read
  ///   or replace it, `invalidKey` when there is no key in it, `accessDenied` or `io`.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard case .rawKey = slot else { return nil }
    return try key()
  }

  /// Returns a raw key slot with the label "mounted key file".
  ///
  /// - Throws: As ``wrappingKey(for:)``.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    (.rawKey(label: "mounted key file"), try key())
  }

  private func key() throws(StoreError) -> WrappingKey {
    let fileSystem = LinuxFileSystem()
    try checkName(fileSystem)
    let file = try openedFile(fileSystem)
    let status = try file.status()
    guard status.kind == .regular else { throw refusal("it is not a regular file") }
    try check(status, "it", forbidden: readers == .group ? 0o027 : 0o022)
    // One byte more than the longest key.
    let buffer = ByteBuffer(byteCount: EncodedKey.maximumByteCount + 1, isSecret: true)
    let byteCount = try file.read(at: 0, into: buffer, 0..<buffer.byteCount)
    return try EncodedKey.decode(buffer, 0..<byteCount, of: path)
  }

  /// Checks who could put another file in the place of the one that the path names.
  private func checkName(_ fileSystem: LinuxFileSystem) throws(StoreError) {
    let (directory, name): (FileStatus?, FileStatus?)
    do throws(SystemCallError) {
      directory = try fileSystem.status(of: "\(path.parentPath)/.", in: .workingDirectory)
      name = try fileSystem.status(of: path, in: .workingDirectory)
    } catch {
      throw error.ofSecret(path)
    }
    guard let directory, let name else { throw SystemCallError("open", ENOENT).ofSecret(path) }
    let isSticky = directory.permissions & 0o1000 != 0
    try check(directory, "its directory", forbidden: isSticky ? 0 : 0o022)
    try check(name, "its name", forbidden: 0)
  }

  private func check(
    _ status: FileStatus, _ subject: String, forbidden: UInt32
  ) throws(StoreError) {
    guard status.owner == 0 || status.owner == CurrentProcess.user else {
      throw refusal("\(subject) belongs to another user (id \(status.owner))")
    }
    let excess = status.permissions & forbidden
    guard excess == 0 else {
      throw refusal(
        "\(excess & 0o022 != 0 ? "others may write \(subject)" : "everyone may read \(subject)") "
          + "(mode \(status.permissions.octal))")
    }
  }

  private func refusal(_ reason: String) -> StoreError {
    StoreError(
      .unsafePermissions, store: path, reason: reason,
      remedy: "Mount it as root's or as user \(CurrentProcess.user)'s, with mode 0440 and the "
        + "program's group: with defaultMode and fsGroup in Kubernetes, with uid, gid and mode in "
        + "Docker")
  }

  private func openedFile(_ fileSystem: LinuxFileSystem) throws(StoreError) -> OpenFile {
    var attempt = 1
    while true {
      do throws(SystemCallError) {
        return try OpenFile(
          path, in: .workingDirectory, .readThroughLinks, path: path, fileSystem: fileSystem)
      } catch {
        // Kubernetes makes a link lead elsewhere, and then removes what it led to.
        guard error.errno == ENOENT, attempt < 5 else { throw error.ofSecret(path) }
        attempt += 1
        usleep(20_000)
      }
    }
  }
}

/// A key as people and charts write it: its bytes, or their Base64 (RFC 4648, section 4).
enum EncodedKey {
  /// The bytes of the longest form: Base64 and a newline.
  static let maximumByteCount = 45

  /// Returns the key in a part of a buffer that is wiped.
  ///
  /// - Throws: `invalidKey`, in the name of the given source, for anything else.
  static func decode(
    _ buffer: ByteBuffer, _ range: Range<Int>, of source: String
  ) throws(StoreError) -> WrappingKey {
    var range = range
    if range.count == maximumByteCount, buffer.load(UInt8.self, at: range.upperBound - 1) == 0x0A {
      range = range.dropLast()
    }
    if range.count == Sodium.keyByteCount { return try WrappingKey(buffer.secret(range)) }
    let key = ByteBuffer(byteCount: Sodium.keyByteCount, isSecret: true)
    guard range.count == maximumByteCount - 1, Base64.decode(buffer, range, into: key) else {
      throw StoreError(
        .invalidKey, store: source,
        reason: "there are not 32 bytes in it, and no Base64 of 32 bytes",
        remedy: "Give it what openssl rand -base64 32 prints")
    }
    return try WrappingKey(key.secret(0..<key.byteCount))
  }
}
