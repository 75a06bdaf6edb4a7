import Dispatch
import Foundation
import Glibc
import SecretStores
import Synchronization

/// The lookup of a host's addresses, which glibc does without a deadline.
///
/// libpq would look names up while it connects, and block its caller for as long as a name server
/// is silent.
enum HostLookup {
  /// Looks a host up on a thread of its own, which is left behind at the deadline.
  ///
  /// - Returns: The numeric addresses, in the order in which they should be tried.
  /// - Throws: `timedOut`, or `notSent` when there is no such host.
  static func addresses(
    of host: String, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> [String] {
    let found = FoundAddresses()
    let thread = Thread {
      found.give(lookUp(host))
    }
    thread.name = "database lookup"
    thread.stackSize = 1 << 18
    thread.start()
    guard let addresses = found.wait(until: deadline) else { throw .timedOut }
    guard !addresses.isEmpty else {
      throw .notSent(.noConnection("the host '\(host)' has no known address"))
    }
    return addresses
  }

  private static func lookUp(_ host: String) -> [String] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_ADDRCONFIG
    var list: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
    defer { unsafe freeaddrinfo(list) }
    var addresses: [String] = []
    var entry = unsafe list
    while let current = unsafe entry {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let code = unsafe getnameinfo(
        current.pointee.ai_addr, current.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0,
        NI_NUMERICHOST)
      if code == 0 {
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        addresses.append(String(decoding: bytes, as: UTF8.self))
      }
      unsafe entry = unsafe current.pointee.ai_next
    }
    return addresses
  }
}

/// The result of a lookup, which one thread gives and another one waits for.
private final class FoundAddresses: Sendable {
  private let addresses = Mutex<[String]?>(nil)
  private let isFound = DispatchSemaphore(value: 0)

  func give(_ found: [String]) {
    addresses.withLock { $0 = found }
    isFound.signal()
  }

  /// Returns `nil` at the deadline.
  func wait(until deadline: ContinuousClock.Instant) -> [String]? {
    _ = isFound.wait(timeout: .now() + (deadline - .now).dispatchInterval)
    return addresses.withLock { $0 }
  }
}
