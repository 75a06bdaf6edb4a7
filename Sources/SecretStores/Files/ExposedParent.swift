import Foundation

/// A directory above a private one that others can change.
///
/// Those who can write it can rename its entries and put another directory in the private one's
/// place: no check of the private directory itself notices that. sshd's `StrictModes` checks the
/// same for the same reason.
package struct ExposedParent: Hashable, Sendable {
  /// What is wrong with the directory, including its path.
  package let reason: String
  /// What to do about it, with a command that this user may run.
  package let remedy: String

  /// Finds the nearest exposed directory above a private one.
  ///
  /// `nil` when no directory above it is exposed, up to the first that cannot be examined.
  ///
  /// - Parameters:
  ///   - path: The private directory.
  ///   - fileSystem: The file system that makes the calls.
  package init?(above path: String, fileSystem: any FileSystem) {
    // Goes up as the kernel does: the directories above a link itself are not above its target.
    var place = path + "/."
    guard var last = Self.status(of: place, fileSystem) else { return nil }
    // A path that the kernel accepts has at most half as many parts as bytes.
    for _ in 0..<2048 {
      place += "/.."
      guard let status = Self.status(of: place, fileSystem), !status.isSameFile(as: last) else {
        return nil
      }
      last = status
      guard let fault = Fault(of: status) else { continue }
      (reason, remedy) = fault.texts(of: place.withoutLinks, status)
      return
    }
    return nil
  }

  /// Returns a directory's status; `nil` when it cannot be examined, since the user may be allowed
  /// only to pass through it.
  private static func status(of place: String, _ fileSystem: any FileSystem) -> FileStatus? {
    (try? fileSystem.status(of: place, in: .workingDirectory)) ?? nil
  }

  private enum Fault {
    case others, group, owner

    init?(of status: FileStatus) {
      // In a directory with the sticky bit, such as /tmp, only a file's owner can rename it.
      let isSticky = status.permissions & 0o1000 != 0
      if !isSticky, status.permissions & 0o002 != 0 {
        self = .others
      } else if !isSticky, status.permissions & 0o020 != 0,
        !CurrentProcess.isAlone(inGroup: status.group)
      {
        self = .group
      } else if status.owner != 0, status.owner != CurrentProcess.user,
        CurrentProcess.isKnown(user: status.owner)
      {
        self = .owner
      } else {
        return nil
      }
    }

    func texts(of path: String, _ status: FileStatus) -> (String, String) {
      // Another user's directory stays as it is: chown would lock its owner out.
      let isOwn = status.owner == CurrentProcess.user
      let move = "Move it to where only you and root can change the directories above it"
      let mode = status.permissions.octal
      return switch self {
      case .others:
        (
          "others can write \(path) (mode \(mode))",
          isOwn ? "Run chmod o-w \(path.shellQuoted)" : move
        )
      case .group:
        (
          "its group can write \(path) (mode \(mode))",
          isOwn ? "Run chmod g-w \(path.shellQuoted)" : move
        )
      case .owner:
        ("\(path) belongs to another user (id \(status.owner))", move)
      }
    }
  }
}
