import Glibc

extension StoreError {
  /// Makes a store's error of a failed system call.
  ///
  /// - Parameters:
  ///   - error: The call and its error number.
  ///   - path: The file of the call.
  package init(_ error: SystemCallError, path: String) {
    let message = CurrentProcess.message(for: error.errno)
    let (code, remedy): (Code, String?) =
      switch error.errno {
      case ENOSPC, EDQUOT:
        (StoreError.noSpace, "Free some space and try again; nothing was changed")
      case EFBIG:
        (
          StoreError.noSpace,
          "Raise the limit on the size of files (ulimit -f) and try again; nothing was changed"
        )
      case EACCES:
        (StoreError.accessDenied, Obstacle(on: path)?.remedy ?? "Check its owner and permissions")
      case EPERM:
        (
          StoreError.accessDenied,
          Obstacle(on: path)?.remedyForProtection
            ?? "Check its owner, and whether it may be changed (lsattr)"
        )
      case EOPNOTSUPP where error == .modesNotKept || error == .ownersNotKept:
        (StoreError.unsafePermissions, "Choose a place on another file system, such as ext4 or XFS")
      case EROFS:
        (
          StoreError.accessDenied,
          "Its file system is mounted read-only: mount it for writing, or "
            + (Obstacle.variable(to: path).map { "set \($0), which leads there, to another place" }
              ?? "choose another place")
        )
      case ELOOP:
        (
          StoreError.unsafePermissions,
          path.remedy("Put the file itself there", orRun: path.ownCopyCommand)
        )
      case EISDIR, ENXIO:
        (
          StoreError.unsafePermissions,
          path.remedy("Put the file itself back", orRun: path.setAsideCommand)
        )
      case ENOENT, ENOTDIR:
        (StoreError.unavailable, Obstacle(on: path)?.remedyForMissingDirectory)
      case ENOMEM:
        (StoreError.unavailable, nil)
      case EMFILE, ENFILE:
        (StoreError.io, "Close some files or raise the limit (ulimit -n)")
      default:
        (StoreError.io, nil)
      }
    // Files are opened without following a link in their place.
    let reason =
      switch error.errno {
      case ELOOP: "this is a symbolic link"
      case EOPNOTSUPP where error == .modesNotKept:
        "its file system keeps no permissions, so others could read it; nothing was made"
      case EOPNOTSUPP where error == .ownersNotKept:
        "its file system gives what is made to another user; nothing was made"
      default: "\(error.failure): \(message)"
      }
    self.init(
      code, store: path, reason: reason, remedy: remedy, errno: error.errno,
      isTransient: [ENOMEM, EMFILE, ENFILE, EAGAIN].contains(error.errno) ? true : nil)
  }
}

extension SystemCallError {
  /// What the call could not do, for people; the call's name if people are hardly to see it.
  package var failure: String {
    switch call {
    case "open", "openat": "it cannot be opened"
    case "read", "pread": "it cannot be read"
    case "write", "pwrite": "it cannot be written"
    case "fsync", "fdatasync": "it cannot be made durable"
    case "ftruncate": "it cannot be cut"
    case "renameat": "it cannot be put in its place"
    case "unlinkat": "it cannot be removed"
    case "mkdirat", "mkdir": "it cannot be made"
    case "readdir": "it cannot be listed"
    case "statx": "it cannot be examined"
    case "fcntl": "it cannot be locked"
    default: call
    }
  }
}
