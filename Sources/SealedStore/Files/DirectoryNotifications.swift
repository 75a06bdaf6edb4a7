import Glibc
package import SessionToolsBase

/// The kernel's notifications about a directory (inotify).
///
/// The only file that makes these calls.
package final class DirectoryNotifications: Sendable {
  /// The inotify descriptor, which is readable when there are events.
  package let descriptor: Int32

  /// Watches a directory for writes to its files, and for names that appear or disappear.
  ///
  /// - Throws: `io`, most likely because the user has reached the limit of watches.
  package init(_ path: String) throws(StoreError) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else {
      throw StoreError(SystemCallError("inotify_init1", errno), path: path)
    }
    let events = UInt32(
      IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR)
    guard unsafe inotify_add_watch(descriptor, path, events) >= 0 else {
      // deinit closes the descriptor: it runs because all properties are initialized.
      throw StoreError(SystemCallError("inotify_add_watch", errno), path: path)
    }
  }

  deinit {
    _ = Glibc.close(descriptor)
  }

  /// Discards all pending events without looking at them: the journal shows what changed.
  ///
  /// An event that reports that others were lost therefore needs no special treatment.
  package func drain() {
    let buffer = ByteBuffer(byteCount: 4096)
    while unsafe Glibc.read(descriptor, buffer.pointer(to: 0..<4096), 4096) > 0 {}
  }
}
