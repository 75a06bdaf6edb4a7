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

  private init(
    listener: LocalSocket, notifications: DirectoryNotifications?, directory: PrivateDirectory,
    identity: FileStatus?, lock: LockFile.Held
  ) {
    self.listener = listener
    self.notifications = notifications
    self.directory = directory
    self.identity = identity
    self.lock = lock
  }

  /// Makes the directory if it is missing, and the socket.
  ///
  /// - Returns: `nil` if another agent of this user runs.
  /// - Throws: `unsafePermissions` if others can use the directory, `accessDenied`, `noSpace` or
  ///   `io`.
  static func open() throws(StoreError) -> AgentDoor? {
    let path = try KeyAgent.directoryPath
    let fileSystem = LinuxFileSystem()
    try fileSystem.makeDirectories(path)
    let directory = try PrivateDirectory(path, fileSystem: fileSystem)
    guard let lock = try Self.lock(in: directory) else { return nil }
    // An agent that was killed has left it: with the lock, it is certain that no agent uses it.
    try directory.remove(KeyAgent.socketName)
    let listener: LocalSocket
    do throws(SystemCallError) {
      listener = try .listening(as: KeyAgent.socketName, in: directory.descriptor)
    } catch {
      throw StoreError(error, path: directory.pathOfFile(KeyAgent.socketName))
    }
    return AgentDoor(
      listener: listener,
      // Without notifications, the agent looks from time to time.
      notifications: try? DirectoryNotifications(path), directory: directory,
      identity: try directory.status(of: KeyAgent.socketName), lock: lock)
  }

  /// Locks the byte that only agents use: the Secret Service's locks, in the same file, are others.
  private static func lock(in directory: PrivateDirectory) throws(StoreError) -> LockFile.Held? {
    do throws(StoreError) {
      return try LockFile(directory).lock(byte: LockFile.writerByte, timeout: .zero)
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

  /// Removes the socket's name, if it still leads to it.
  func close() {
    if isOpen { directory.discard(KeyAgent.socketName) }
  }
}
