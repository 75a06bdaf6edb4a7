import Glibc

/// Waiting for sockets, which libpq itself does without a deadline.
enum SocketWait {
  /// Which descriptor is ready.
  enum Outcome {
    case ready
    /// The other descriptor, which is there to end the wait.
    case woken
    case deadline
  }

  /// Waits until a socket is ready.
  ///
  /// - Parameters:
  ///   - descriptor: The socket.
  ///   - events: `POLLIN`, `POLLOUT` or both. A broken socket is ready for both.
  ///   - waker: A descriptor that ends the wait when it can be read.
  ///   - deadline: When the wait ends at the latest.
  /// - Returns: Why the wait ended.
  static func wait(
    for descriptor: Int32, _ events: Int32, or waker: Int32 = -1,
    until deadline: ContinuousClock.Instant
  ) -> Outcome {
    var polled = [
      pollfd(fd: descriptor, events: Int16(events), revents: 0),
      pollfd(fd: waker, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      let left = (deadline - .now) / .milliseconds(1)
      let milliseconds = Int32(max(0, min(left, 1e6)).rounded(.up))
      if unsafe poll(&polled, nfds_t(polled.count), milliseconds) > 0 {
        return polled[0].revents != 0 ? .ready : .woken
      }
      // Otherwise a signal arrived, or the deadline is further away than one wait.
      if ContinuousClock.now >= deadline { return .deadline }
    }
  }

  /// Whether something has arrived, or the peer has closed.
  static func hasInput(_ descriptor: Int32) -> Bool { isNow(descriptor, Int32(POLLIN)) }

  /// Whether the peer sends nothing any more.
  static func hasEnded(_ descriptor: Int32) -> Bool {
    isNow(descriptor, 0x2000)  // POLLRDHUP, which glibc hides behind _GNU_SOURCE.
  }

  private static func isNow(_ descriptor: Int32, _ events: Int32) -> Bool {
    var polled = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return unsafe poll(&polled, 1, 0) > 0
  }
}
