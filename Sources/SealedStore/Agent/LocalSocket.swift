import CSessionToolsLinux
import Glibc
package import SecretStores

/// A local socket, of the agent, of a program that asks it, or of a service, closed when it is
/// released.
///
/// It never blocks, programs that are started do not inherit it, and a peer that closes raises no
/// signal. Names are reached through the open directory, so that its path may be of any length and
/// no directory above it can be swapped: an address has room for 107 bytes.
package final class LocalSocket: Sendable {
  enum Reading {
    case bytes(Int)
    case nothingYet
    case ended
  }

  /// The number of connections that the kernel takes before the agent does.
  private static let backlog: Int32 = 64

  /// The descriptor, to wait for.
  package let descriptor: Int32

  private init(taking descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit {
    _ = Glibc.close(descriptor)
  }

  private static func open() throws(SystemCallError) -> LocalSocket {
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = socket(AF_UNIX, Int32(kind), 0)
    guard descriptor >= 0 else { throw SystemCallError("socket", errno) }
    return LocalSocket(taking: descriptor)
  }

  /// Makes a socket of mode 0600 in a directory, and listens.
  ///
  /// - Throws: The kernel's error, such as `EADDRINUSE` when the name exists.
  package static func listening(
    as name: String, in directory: Descriptor
  ) throws(SystemCallError) -> LocalSocket {
    let listener = try open()
    let path = path(of: name, in: directory)
    guard try unsafe calling(path, { unsafe Glibc.bind(listener.descriptor, $0, $1) }) == 0 else {
      throw SystemCallError("bind", errno)
    }
    // No one can connect before it listens.
    guard unsafe Glibc.chmod(path, 0o600) == 0 else { throw SystemCallError("chmod", errno) }
    guard Glibc.listen(listener.descriptor, backlog) == 0 else {
      throw SystemCallError("listen", errno)
    }
    return listener
  }

  /// Takes the listening socket with which this process was started.
  ///
  /// - Throws: The kernel's error when there is no such descriptor, or `ENOTSOCK` when it is not a
  ///   socket that listens.
  package static func listening(
    inherited descriptor: Int32
  ) throws(SystemCallError) -> LocalSocket {
    var (listens, byteCount): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
    guard
      unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &byteCount) == 0,
      listens == 1
    else { throw SystemCallError("getsockopt", ENOTSOCK) }
    guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
      fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0
    else { throw SystemCallError("fcntl", errno) }
    return LocalSocket(taking: descriptor)
  }

  /// Connects to a socket of this process's user.
  ///
  /// - Returns: `nil` when no process listens there.
  /// - Throws: `EPERM` when the process at the other end belongs to another user, `ETIMEDOUT`, or
  ///   the kernel's error.
  static func connected(
    to name: String, in directory: Descriptor, until deadline: ContinuousClock.Instant
  ) throws(SystemCallError) -> LocalSocket? {
    let socket = try open()
    let path = path(of: name, in: directory)
    while try unsafe calling(path, { unsafe Glibc.connect(socket.descriptor, $0, $1) }) != 0 {
      switch errno {
      case ENOENT, ECONNREFUSED: return nil
      case EAGAIN, EINTR:
        // The kernel has no room for another connection, and does not report when it has.
        guard ContinuousClock.now < deadline else { throw SystemCallError("connect", ETIMEDOUT) }
        _ = poll(nil, 0, 5)
      default: throw SystemCallError("connect", errno)
      }
    }
    guard socket.peerUser == CurrentProcess.user else { throw SystemCallError("connect", EPERM) }
    return socket
  }

  private static func path(of name: String, in directory: Descriptor) -> String {
    "/proc/self/fd/\(directory.rawValue)/\(name)"
  }

  /// Makes a call with a local address.
  private static func calling(
    _ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(SystemCallError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
      guard path.utf8.count < target.count else { return false }
      unsafe target.copyBytes(from: path.utf8)
      return true
    }
    guard fits else { throw SystemCallError("bind", ENAMETOOLONG) }
    return unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe call(address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Accepts the next connection; `nil` when no peer is waiting.
  ///
  /// - Throws: The kernel's error when it cannot accept one, such as `EMFILE`.
  package func accept() throws(SystemCallError) -> LocalSocket? {
    try Self.accepted(from: descriptor)
  }

  /// Accepts the next connection of a listening socket; `nil` when no peer is waiting.
  ///
  /// - Throws: As ``accept()``, and `ENOTSOCK` for another descriptor.
  package static func accepted(from listener: Int32) throws(SystemCallError) -> LocalSocket? {
    let accepted = session_tools_accept(listener)
    if accepted >= 0 { return LocalSocket(taking: accepted) }
    switch errno {
    case EAGAIN, EINTR, ECONNABORTED: return nil
    default: throw SystemCallError("accept4", errno)
    }
  }

  /// The user of the process at the other end, as it was when it connected or listened; `nil` when
  /// the kernel does not know it.
  package var peerUser: UInt32? {
    var user: UInt32 = 0
    return unsafe session_tools_local_peer_user(descriptor, &user) == 0 ? user : nil
  }

  /// Reads what has arrived.
  func read(into buffer: ByteBuffer, _ range: Range<Int>) -> Reading {
    let count = unsafe recv(descriptor, buffer.pointer(to: range), range.count, 0)
    if count > 0 { return .bytes(count) }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? .nothingYet : .ended
  }

  /// Sends a message, for which the kernel always has room on a new connection.
  ///
  /// - Returns: Whether the peer can still receive it.
  @discardableResult
  package func send(_ message: AgentMessage) -> Bool {
    let byteCount = message.buffer.byteCount
    let start = unsafe message.buffer.pointer(to: 0..<byteCount)
    return unsafe Glibc.send(descriptor, start, byteCount, Int32(MSG_NOSIGNAL)) == byteCount
  }

  /// Waits until at least one of some descriptors can be read, a signal arrives or the time is
  /// over.
  package static func wait(for descriptors: [Int32], atMost duration: Duration) {
    var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let milliseconds = Int32(max(0, min(duration / .milliseconds(1), 1e6)).rounded(.up))
    _ = unsafe poll(&polled, nfds_t(polled.count), milliseconds)
  }
}
