import Foundation
import Glibc
import SealedStore
import SessionToolsBase

/// A connection to a local socket that systemd opened for this process.
struct LocalConnection {
  private let socket: LocalSocket

  /// The listening sockets that systemd passed to this process; empty if it passed no socket.
  ///
  /// Source: sd_listen_fds(3).
  static var listeners: [Int32] {
    let environment = ProcessInfo.processInfo.environment
    guard environment["LISTEN_PID"] == "\(getpid())",
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...1024).contains(count)
    else { return [] }
    return Array(3..<3 + count)
  }

  /// Waits for the next connection, and returns the listening socket that it came to; `nil` if no
  /// one connects within a time.
  ///
  /// - Throws: The kernel's error.
  static func arrival(
    at listeners: [Int32], within timeout: Duration
  ) throws(SystemCallError) -> Int32? {
    try wait(for: listeners, Int16(POLLIN), until: ContinuousClock.now + timeout)
  }

  /// Accepts the next connection; `nil` if it is gone again.
  ///
  /// - Throws: The kernel's error, such as `EMFILE`, or `ENOTSOCK` for another descriptor.
  static func accepted(from listener: Int32) throws(SystemCallError) -> LocalConnection? {
    try LocalSocket.accepted(from: listener).map(LocalConnection.init)
  }

  /// Returns the first descriptor that is ready; `nil` at the end of the time.
  private static func wait(
    for descriptors: [Int32], _ events: Int16, until end: ContinuousClock.Instant
  ) throws(SystemCallError) -> Int32? {
    while true {
      var waiting = descriptors.map { pollfd(fd: $0, events: events, revents: 0) }
      let left = max(0, (end - .now) / .milliseconds(1)).rounded(.up)
      let count = unsafe poll(&waiting, nfds_t(waiting.count), Int32(min(left, 1e9)))
      if count > 0 { return waiting.first { $0.revents != 0 }?.fd }
      if count == 0 { return nil }
      if errno != EINTR { throw SystemCallError("poll", errno) }
    }
  }

  /// The abstract name of the peer's socket, without the byte of zero before it; `nil` if the
  /// socket has no such name.
  var peerName: String? {
    var address = sockaddr_un()
    var byteCount = socklen_t(MemoryLayout<sockaddr_un>.size)
    let bytes = unsafe withUnsafeMutableBytes(of: &address) { bytes -> [UInt8]? in
      guard let start = bytes.baseAddress,
        unsafe getpeername(
          socket.descriptor, start.assumingMemoryBound(to: sockaddr.self), &byteCount)
          == 0
      else { return nil }
      return unsafe Array(bytes.prefix(Int(byteCount)))
    }
    // The family comes first, in two bytes.
    guard let bytes, bytes.count > 3, bytes[2] == 0 else { return nil }
    return String(validating: bytes[3...], as: UTF8.self)
  }

  /// The user of the process that connected; `nil` if the kernel does not say.
  var peerUser: UInt32? { socket.peerUser }

  /// Sends bytes to a peer that reads them within a time.
  ///
  /// - Throws: The kernel's error, such as `EPIPE`; `ETIMEDOUT` for a peer that does not read.
  func send(_ secret: SecretBytes, within timeout: Duration) throws(SystemCallError) {
    let end = ContinuousClock.now + timeout
    var done = 0
    while done < secret.byteCount {
      let (count, error) = secret.withBytes { bytes in
        unsafe bytes.withUnsafeBytes { bytes -> (Int, Int32) in
          let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
          let count = unsafe Glibc.send(
            socket.descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
          return (count, errno)
        }
      }
      if count >= 0 {
        done += count
      } else if error == EAGAIN {
        guard try Self.wait(for: [socket.descriptor], Int16(POLLOUT), until: end) != nil else {
          throw SystemCallError("send", ETIMEDOUT)
        }
      } else if error != EINTR {
        throw SystemCallError("send", error)
      }
    }
  }
}
