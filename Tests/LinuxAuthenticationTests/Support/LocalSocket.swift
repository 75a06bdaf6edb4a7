import Foundation

/// A socket in the file system that takes one command for each connection.
enum LocalSocket {
  /// Sends a command, and waits until it is received.
  ///
  /// - Returns: Whether it was received.
  static func send(_ command: String, to path: String) throws -> Bool {
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw POSIXError(.EMFILE) }
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isTooLong = unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
      guard path.utf8.count < target.count else { return true }
      unsafe target.copyBytes(from: path.utf8)
      return false
    }
    guard !isTooLong else { throw POSIXError(.ENAMETOOLONG) }
    let isConnected = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe connect(socket, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isConnected else { return false }
    var bytes = Array(command.utf8)
    guard unsafe Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    else { return false }
    shutdown(socket, Int32(SHUT_WR))
    // The receiver closes the connection when it has read the command.
    return unsafe recv(socket, &bytes, 1, 0) >= 0
  }
}
