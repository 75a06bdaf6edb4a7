import Glibc

/// A system call that failed.
struct SystemCallFailure: Error {
  let call: String
  let errno: Int32

  /// What to do next, as a store's error tells it.
  var code: StoreError.Code {
    switch errno {
    case ENOSPC, EDQUOT: StoreError.noSpace
    case EACCES, EPERM, EROFS: StoreError.accessDenied
    case ELOOP: StoreError.unsafePermissions
    default: StoreError.io
    }
  }

  /// Whether a link was found where none is followed.
  var isLink: Bool { errno == ELOOP }
}
