import Glibc

/// One place where a server may be: a directory with its socket, or a host and a port.
package struct DatabaseEndpoint: Hashable, Sendable {
  /// A host's name or address, or the directory of a Unix socket, which begins with `/` or `@`.
  let host: String
  /// The numeric address to connect to; `nil` when the host still has to be looked up.
  let address: String?
  let port: String

  init(host: String, address: String?, port: String) {
    self.host = host
    self.port = port
    if let address {
      self.address = address
    } else {
      self.address = Self.isLiteral(host) ? host : nil
    }
  }

  var isSocket: Bool { address == nil && (host.hasPrefix("/") || host.hasPrefix("@")) }
  var needsLookup: Bool { address == nil && !isSocket }
  /// Whether what is sent never leaves this machine.
  ///
  /// Of a name this is not known, not even of `localhost`: another machine may answer the lookup.
  package var isOnThisMachine: Bool { isSocket || address.map(Self.isLoopback) ?? false }

  private static func isLiteral(_ text: String) -> Bool {
    parsed(text, AF_INET) != nil || parsed(text, AF_INET6) != nil
  }

  private static func isLoopback(_ text: String) -> Bool {
    if let four = parsed(text, AF_INET) { return four[0] == 127 }
    guard let six = parsed(text, AF_INET6) else { return false }
    let isMapped = six[..<12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
    return six == Array(repeating: 0, count: 15) + [1] || isMapped && six[12] == 127
  }

  /// Returns the bytes of a numeric address; `nil` for anything else.
  private static func parsed(_ text: String, _ family: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: family == AF_INET ? 4 : 16)
    return unsafe inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }
}

extension DatabaseEndpoint: CustomStringConvertible {
  package var description: String { isSocket ? "\(host), port \(port)" : "\(host):\(port)" }
}
