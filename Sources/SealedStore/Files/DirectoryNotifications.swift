import Glibc
package import SecretStores

/// The kernel's notifications about a directory (inotify).
///
/// The only file that makes these calls.
package final class DirectoryNotifications: Sendable {
  /// The inotify descriptor, which is readable when there are events.
  package let descriptor: Int32

  /// Watches a directory for writes to its files, and for names that appear or disappear.
  ///
  /// - Throws: `unavailable`, most likely because the user has reached a limit of the kernel.
  package init(_ path: String) throws(StoreError) {
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else {
      throw Self.refusal(errno, limit: "max_user_instances", raisedTo: 8192, path)
    }
    let events = UInt32(
      IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR)
    guard unsafe inotify_add_watch(descriptor, path, events) >= 0 else {
      // deinit closes the descriptor: it runs because all properties are initialized.
      throw Self.refusal(errno, limit: "max_user_watches", raisedTo: 1 << 20, path)
    }
  }

  /// The error of a call that counts against a limit of inotify(7).
  private static func refusal(
    _ error: Int32, limit: String, raisedTo number: Int, _ path: String
  ) -> StoreError {
    // EMFILE also stands for the process's own limit of files.
    let isLimit = error == ENOSPC || (error == EMFILE && hasDescriptor)
    let cause =
      isLimit
      ? "all that fs.inotify.\(limit) allows are in use" : CurrentProcess.message(for: error)
    return StoreError(
      .unavailable, store: path, reason: "the kernel gives no notifications of changes: \(cause)",
      remedy: isLimit ? "Raise the limit: sudo sysctl fs.inotify.\(limit)=\(number)" : nil,
      errno: error)
  }

  /// Whether the process can open one more file.
  private static var hasDescriptor: Bool {
    let descriptor = unsafe Glibc.open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
    return descriptor >= 0
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
