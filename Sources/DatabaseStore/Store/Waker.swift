import CSessionToolsLinux
import Glibc

/// A descriptor that can be read after a call of `wake()`, for waits that also watch a socket.
final class Waker: Sendable {
  /// Negative when the system had no descriptor left: then waits end by their deadline alone.
  let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Ends the wait that is under way, or the next one.
  func wake() {
    _ = eventfd_write(descriptor, 1)
  }

  /// Lets the next wait begin.
  func clear() {
    var count: eventfd_t = 0
    unsafe _ = eventfd_read(descriptor, &count)
  }
}
