import Glibc
import SessionToolsBase

/// The kernel's notifications about a directory (inotify).
///
/// The only file that makes these calls.
final class DirectoryNotifications: Sendable {
  /// Readable when there is something to tell.
  let descriptor: Int32

  /// Asks to be told of writes to files of a directory, and of names that come or go.
  ///
  /// - Throws: `io`, most likely because the user has as many watches as are allowed.
  init(_ path: String) throws(StoreError) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else {
      throw StoreError(SystemCallError("inotify_init1", errno), path: path)
    }
    let events = UInt32(
      IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR)
    guard unsafe inotify_add_watch(descriptor, path, events) >= 0 else {
      // Closed by deinit, which runs for an object that has all of its properties.
      throw StoreError(SystemCallError("inotify_add_watch", errno), path: path)
    }
  }

  deinit {
    _ = Glibc.close(descriptor)
  }

  /// Takes all events that wait, without looking at them: what changed is read from the
  /// journal.
  ///
  /// An event that says that others were lost needs nothing else, therefore.
  func drain() {
    let buffer = ByteBuffer(byteCount: 4096)
    while unsafe Glibc.read(descriptor, buffer.pointer(to: 0..<4096), 4096) > 0 {}
  }
}
