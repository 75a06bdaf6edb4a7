import Foundation

/// A directory above a private one that others can change.
///
/// Who can write it can rename what is in it, and put another directory in the private one's place:
/// no check of the private one itself notices that. What sshd's `StrictModes` looks at, for the same
/// reason.
package struct ExposedParent: Hashable, Sendable {
  /// What is wrong with it, with its path.
  package let reason: String
  /// The command that mends it.
  package let remedy: String

  /// The nearest one above a directory; `nil` when there is none, or none that can be looked at.
  ///
  /// - Parameters:
  ///   - path: The private directory.
  ///   - fileSystem: What makes the calls.
  package init?(above path: String, fileSystem: any FileSystem) {
    // As the kernel goes up: what stands above a link's own place is not above its target.
    var place = path + "/."
    guard var last = Self.status(of: place, fileSystem) else { return nil }
    // A path of the kernel's has at most half as many parts as bytes.
    for _ in 0..<2048 {
      place += "/.."
      guard let status = Self.status(of: place, fileSystem), !status.isSameFile(as: last) else {
        return nil
      }
      last = status
      guard let fault = Fault(of: status) else { continue }
      (reason, remedy) = fault.texts(
        of: URL(filePath: place).resolvingSymlinksInPath().standardizedFileURL.path, status)
      return
    }
    return nil
  }

  /// What cannot be looked at is not reported: the person may be allowed to go through it only.
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
      switch self {
      case .others:
        (
          "others can write \(path) (mode \(status.permissions.octal))",
          "chmod o-w \(path.shellQuoted)"
        )
      case .group:
        (
          "its group can write \(path) (mode \(status.permissions.octal))",
          "chmod g-w \(path.shellQuoted)"
        )
      case .owner:
        (
          "\(path) belongs to another user (id \(status.owner))",
          "chown \(CurrentProcess.user) \(path.shellQuoted)"
        )
      }
    }
  }
}
