import CSessionToolsLinux
import Glibc
import SessionToolsBase

/// A socket of the loopback interface, closed when it is released; the only file that calls the
/// kernel's network functions.
///
/// It is never inherited: a browser with the listening socket would keep the port after the login,
/// and take the answers of the next one. It never blocks, and a peer that closes raises no signal.
package struct LoopbackSocket: ~Copyable {
  /// One of the two addresses that no other machine can reach (RFC 8252, section 8.3).
  package enum Family: String, Codable {
    case version4 = "127.0.0.1"
    case version6 = "[::1]"
  }

  enum Reading {
    case bytes([UInt8])
    case nothingYet
    case ended
  }

  let descriptor: Int32

  private init(taking descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit {
    // A program that is just being started briefly has a copy, which would keep the port open.
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  /// Opens a socket and listens.
  ///
  /// - Parameters:
  ///   - family: The address.
  ///   - port: The port; 0 for any that is free.
  /// - Returns: The listening socket.
  /// - Throws: The kernel's error, such as `EADDRINUSE`.
  static func listening(
    on family: Family, port: UInt16
  ) throws(SystemCallError) -> LoopbackSocket {
    let domain = family == .version4 ? AF_INET : AF_INET6
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    let descriptor = socket(domain, Int32(kind), 0)
    guard descriptor >= 0 else { throw SystemCallError("socket", errno) }
    let listener = LoopbackSocket(taking: descriptor)
    // Allows a port with recently closed connections, such as those of the process that is being
    // resumed. It does not allow a second listener: that would be SO_REUSEPORT.
    var yes: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size) == 0 else {
      throw SystemCallError("setsockopt", errno)
    }
    guard bind(descriptor, family, port) == 0 else { throw SystemCallError("bind", errno) }
    guard listen(descriptor, 128) == 0 else { throw SystemCallError("listen", errno) }
    return listener
  }

  private static func bind(_ descriptor: Int32, _ family: Family, _ port: UInt16) -> Int32 {
    switch family {
    case .version4:
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
      return unsafe withUnsafeBytes(of: &address) { bytes in
        unsafe Glibc.bind(
          descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
          socklen_t(bytes.count))
      }
    case .version6:
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_addr = in6addr_loopback
      return unsafe withUnsafeBytes(of: &address) { bytes in
        unsafe Glibc.bind(
          descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
          socklen_t(bytes.count))
      }
    }
  }

  /// Returns the port that the socket listens on.
  ///
  /// - Throws: The kernel's error.
  func port() throws(SystemCallError) -> UInt16 {
    // The port is at the same offset in both kinds of addresses.
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let status = unsafe withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress else { return Int32(-1) }
      return unsafe getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &size)
    }
    guard status == 0 else { throw SystemCallError("getsockname", errno) }
    return UInt16(bigEndian: address.sin6_port)
  }

  /// Accepts the next connection; `nil` when no peer is waiting.
  ///
  /// - Throws: The kernel's error when it cannot accept one, such as `EMFILE`.
  func accept() throws(SystemCallError) -> LoopbackSocket? {
    let descriptor = session_tools_accept(descriptor)
    if descriptor >= 0 { return LoopbackSocket(taking: descriptor) }
    switch errno {
    case EAGAIN, EINTR, ECONNABORTED: return nil
    default: throw SystemCallError("accept4", errno)
    }
  }

  /// Returns the user of the connected process; `nil` when the user cannot be determined, because
  /// the process has gone or the kernel has no socket diagnosis.
  func peerUser() -> UInt32? {
    var user: UInt32 = 0
    return unsafe session_tools_peer_user(descriptor, &user) == 0 ? user : nil
  }

  /// Reads the bytes that have arrived.
  func read(atMost byteCount: Int) -> Reading {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    let count = unsafe recv(descriptor, &bytes, byteCount, 0)
    if count > 0 { return .bytes(Array(bytes.prefix(count))) }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? .nothingYet : .ended
  }

  /// Sends an answer, which fits into the kernel's buffer for a slow peer.
  func write(_ bytes: [UInt8]) {
    // A peer that has gone needs no answer.
    _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    shutdown(descriptor, Int32(SHUT_WR))
  }
}

/// A wake-up for a thread that is waiting for sockets.
final class LoopbackWake: Sendable {
  let descriptor: Int32

  init() throws(SystemCallError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw SystemCallError("eventfd", errno) }
  }

  func signal() {
    // It fails only after 2⁶⁴ signals without a read.
    _ = eventfd_write(descriptor, 1)
  }

  deinit {
    close(descriptor)
  }
}

/// Waits until at least one of some descriptors can be read.
///
/// - Returns: The readable descriptors; all of them when the kernel reports an error.
func waitForInput(on descriptors: [Int32], atMost duration: Duration?) -> Set<Int32> {
  var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  let milliseconds = duration.map { Int32(max(0, min($0 / .milliseconds(1), 1e6)).rounded(.up)) }
  let count = unsafe poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
  if count < 0 { return errno == EINTR ? [] : Set(descriptors) }
  return Set(polled.filter { $0.revents != 0 }.map(\.fd))
}
