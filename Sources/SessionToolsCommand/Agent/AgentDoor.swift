import SealedStore
import SessionToolsBase

/// The agent's socket in the file system, and the lock that makes it the only one of its user.
final class AgentDoor {
  let listener: LocalSocket
  /// Notifications about the socket's directory, if the kernel gives them.
  let notifications: DirectoryNotifications?
  private let directory: PrivateDirectory
  private let identity: FileStatus?
  /// Held as long as the process lives.
  private let lock: LockFile.Held
  /// Whether this process made the socket, and removes its name.
  private let isOwn: Bool

  private init(
    listener: LocalSocket, notifications: DirectoryNotifications?, directory: PrivateDirectory,
    identity: FileStatus?, lock: LockFile.Held, isOwn: Bool
  ) {
    self.listener = listener
    self.notifications = notifications
    self.directory = directory
    self.identity = identity
    self.lock = lock
    self.isOwn = isOwn
  }

  /// Makes the directory if it is missing, and the socket if systemd did not pass it.
  ///
  /// - Parameter passed: The descriptor of the socket from systemd.
  /// - Returns: `nil` if another agent of this user runs.
  /// - Throws: `unsafePermissions` if others can use the directory, `accessDenied`, `noSpace` or
  ///   `io`.
  static func open(passed: Int32?) throws(StoreError) -> AgentDoor? {
    let path = try KeyAgent.directoryPath
    let fileSystem = LinuxFileSystem()
    try fileSystem.makeDirectories(path)
    let directory = try PrivateDirectory(path, fileSystem: fileSystem)
    // An agent whose socket's name systemd took ends as soon as it finds that out.
    guard let lock = try Self.lock(in: directory, within: passed == nil ? .zero : .seconds(5))
    else { return nil }
    // An agent that was killed has left it: with the lock, it is certain that no agent uses it.
    if passed == nil { try directory.remove(KeyAgent.socketName) }
    let listener: LocalSocket
    do throws(SystemCallError) {
      listener =
        if let passed {
          try .listening(inherited: passed)
        } else {
          try .listening(as: KeyAgent.socketName, in: directory.descriptor)
        }
    } catch {
      throw StoreError(error, path: directory.pathOfFile(KeyAgent.socketName))
    }
    return AgentDoor(
      listener: listener,
      // Without notifications, the agent looks from time to time.
      notifications: try? DirectoryNotifications(path), directory: directory,
      identity: try directory.status(of: KeyAgent.socketName), lock: lock, isOwn: passed == nil)
  }

  /// Locks the byte that only agents use: the Secret Service's locks, in the same file, are others.
  private static func lock(
    in directory: PrivateDirectory, within timeout: Duration
  ) throws(StoreError) -> LockFile.Held? {
    do throws(StoreError) {
      return try LockFile(directory).lock(byte: LockFile.writerByte, timeout: timeout)
    } catch let error where error.code == .timedOut {
      return nil
    }
  }

  /// Whether the socket's name still leads to it.
  ///
  /// It does not once the person has logged out: systemd removes the runtime directory with the
  /// user's last session.
  var isOpen: Bool {
    // A directory that cannot be read is as good as none.
    guard let identity, let found = try? directory.status(of: KeyAgent.socketName) else {
      return false
    }
    return found.isSameFile(as: identity)
  }

  /// Removes the socket's name, if it still leads to it and is not systemd's.
  func close() {
    if isOwn, isOpen { directory.discard(KeyAgent.socketName) }
  }
}
