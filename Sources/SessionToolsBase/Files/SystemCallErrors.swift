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
      case EACCES, EPERM, EROFS:
        (StoreError.accessDenied, "Check its owner and permissions")
      case ELOOP:
        (StoreError.unsafePermissions, "Put the file itself there, or run " + path.ownCopyCommand)
      case EISDIR, ENXIO:
        (StoreError.unsafePermissions, "Put the file itself back, or run " + path.setAsideCommand)
      case ENOENT, ENOTDIR, ENOMEM:
        (StoreError.unavailable, nil)
      case EMFILE, ENFILE:
        (StoreError.io, "Close some files or raise the limit (ulimit -n)")
      default:
        (StoreError.io, nil)
      }
    self.init(
      code, store: path, reason: "\(error.call): \(message)", remedy: remedy,
      errno: error.errno)
  }
}
