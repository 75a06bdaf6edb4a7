/// The kind, owner, mode and links that a file or directory must have, so that no one else can read
/// or replace it.
package struct AccessRule: Sendable {
  private let kind: FileStatus.Kind
  /// The bits of the mode that must not be set.
  private let forbidden: UInt32
  private var mayBelongToRoot = false
  private var hasOneName = false

  /// A directory that only this user may use.
  package static let privateDirectory = AccessRule(kind: .directory, forbidden: 0o077)
  /// A directory in which only this user may make names.
  package static let ownDirectory = AccessRule(kind: .directory, forbidden: 0o022)
  /// A file that only this user may read or write.
  package static let privateFile = AccessRule(kind: .regular, forbidden: 0o077)
  /// A file that only this user may write.
  package static let ownFile = AccessRule(kind: .regular, forbidden: 0o022)
  /// A private file to which no other name leads.
  package static let soleFile = AccessRule(kind: .regular, forbidden: 0o077, hasOneName: true)
  /// A file of this user or root that the world may not use: systemd makes credentials this way.
  package static let credential = AccessRule(
    kind: .regular, forbidden: 0o007, mayBelongToRoot: true)

  private init(
    kind: FileStatus.Kind, forbidden: UInt32, mayBelongToRoot: Bool = false,
    hasOneName: Bool = false
  ) {
    self.kind = kind
    self.forbidden = forbidden
    self.mayBelongToRoot = mayBelongToRoot
    self.hasOneName = hasOneName
  }

  /// Checks the status of what a path leads to.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - path: The path.
  ///   - directory: The directory to which a remedy is applied with all of its content, if there is
  ///     one: after a restore, owner or mode of every file may be wrong.
  /// - Throws: `unsafePermissions`.
  package func check(
    _ status: FileStatus, path: String, within directory: String? = nil
  ) throws(StoreError) {
    let user = CurrentProcess.user
    let reason: String
    let remedy: String
    if status.kind != kind {
      reason = "it is not a \(kind == .directory ? "directory" : "regular file")"
      remedy = path.remedy("Put the original back", orRun: path.setAsideCommand)
    } else if status.owner != user, !mayBelongToRoot || status.owner != 0 {
      let name = CurrentProcess.name(ofUser: status.owner).map { "\($0), " } ?? ""
      reason = "it belongs to another user (\(name)id \(status.owner))"
      let target = directory.map { "-R \(user) \($0.shellQuoted)" }
      let command = "chown \(target ?? "\(user) \(path.shellQuoted)")"
      // In another's directory, it is that user's: chown would lock its owner out.
      remedy =
        Self.isOwn((directory ?? path).parentPath)
        ? "Run as that user, or run \(command)"
        : "Run as that user"
    } else if status.permissions & forbidden != 0 {
      reason =
        "others may \(forbidden == 0o022 ? "" : "read or ")write it "
        + "(mode \(status.permissions.octal))"
      let mode = forbidden == 0o022 ? "go-w" : kind == .directory ? "700" : "600"
      let target = directory.map { "-R go= \($0.shellQuoted)" }
      let command = "run chmod \(target ?? "\(mode) \(path.shellQuoted)")"
      remedy =
        FileSystemType.mayIgnoreModes(path)
        ? "Move it to a file system that keeps permissions, such as ext4; if this one does, "
          + command
        : command.prefix(1).uppercased() + command.dropFirst()
    } else if hasOneName, status.linkCount != 1 {
      reason = "it has \(status.linkCount) hard links"
      remedy = "Run " + path.ownCopyCommand
    } else {
      return
    }
    throw StoreError(.unsafePermissions, store: path, reason: reason, remedy: remedy)
  }

  /// Returns whether a directory belongs to this user, or to no one in particular (root's `/tmp`).
  private static func isOwn(_ directory: String) -> Bool {
    guard let obstacle = Obstacle(on: directory) else { return false }
    return !obstacle.isAnotherUsers
  }
}
