import Foundation

/// TCP on this machine.
package enum LocalPort {
  /// Returns a port that no process uses now.
  package static func free() throws -> UInt16 {
    let listener = try listen()
    defer { close(listener.descriptor) }
    return listener.port
  }

  /// Listens on a port of 127.0.0.1 that the kernel chooses.
  static func listen() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = address(of: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let error = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(descriptor, address, length) == 0 && Glibc.listen(descriptor, 64) == 0
          && getsockname(descriptor, address, &length) == 0 ? 0 : errno
      }
    }
    guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// Connects to a port of 127.0.0.1; returns `nil` when nothing listens there.
  static func connect(to port: UInt16) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = address(of: port)
    let code = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if code == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  private static func address(of port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr = in_addr(s_addr: UInt32(0x7f00_0001).bigEndian)
    return address
  }
}
