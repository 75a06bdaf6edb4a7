import Foundation
import Synchronization

/// Two connected sockets.
final class ProxiedLink: Sendable {
  fileprivate struct State {
    /// The client's messages have no type until it has sent the one that begins a session.
    var isStarted = false
    /// The server answers a request for TLS with a single byte.
    var isAskedForTLS = false
    var isInTLS = false
    var isSilent = false
    var isAnswerLost = false
    var endCount = 0
  }

  private let client: Int32
  private let server: Int32
  private let state = Mutex(State())

  init(client: Int32, server: Int32) {
    (self.client, self.server) = (client, server)
    for descriptor in [client, server] {
      // Messages are passed on one by one: the kernel would hold back each second one until the
      // first is acknowledged, which takes 40 ms.
      var isOn: Int32 = 1
      unsafe setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }
  }

  var isClosed: Bool { state.withLock { $0.endCount == 2 } }

  func silence() { state.withLock { $0.isSilent = true } }

  func cut() {
    state.withLock { state in
      guard state.endCount < 2 else { return }
      shutdown(client, Int32(SHUT_RDWR))
      shutdown(server, Int32(SHUT_RDWR))
    }
  }

  /// Ends one direction; the sockets are closed when both have ended.
  func end(_ direction: FaultProxy.Direction) {
    let isSilent = state.withLock { $0.isSilent }
    if !isSilent || direction == .toServer { cut() }
    state.withLock { state in
      state.endCount += 1
      guard state.endCount == 2 else { return }
      close(client)
      close(server)
    }
  }

  func read(_ direction: FaultProxy.Direction, into buffer: inout [UInt8]) -> Bool {
    var part = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe recv(direction == .toServer ? client : server, &part, part.count, 0)
    guard count > 0 else { return false }
    if state.withLock({ $0.isSilent }) {
      // Nothing is taken any more, as by a machine that is gone.
      if direction == .toClient { return true }
      var polled = pollfd(fd: client, events: 0x2000, revents: 0)  // POLLRDHUP
      return unsafe poll(&polled, 1, -1) < 0
    }
    buffer += part[..<count]
    return true
  }

  /// Takes the next complete message.
  func nextMessage(_ direction: FaultProxy.Direction, in buffer: inout [UInt8]) -> ArraySlice<
    UInt8
  >? {
    let count = state.withLock { $0.length(of: direction, buffer) }
    guard let count, count <= buffer.count else { return nil }
    defer { buffer.removeFirst(count) }
    return buffer[..<count]
  }

  func pass(_ message: ArraySlice<UInt8>, _ direction: FaultProxy.Direction) {
    let (isSilent, isAnswerLost) = state.withLock { ($0.isSilent, $0.isAnswerLost) }
    if isSilent { return }
    if isAnswerLost, direction == .toClient { return cut() }
    var rest = message
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe send(
          direction == .toServer ? server : client, bytes.baseAddress, bytes.count,
          Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return cut() }
      rest = rest.dropFirst(count)
    }
  }

  func commit(
    _ fault: FaultProxy.Fault, at message: ArraySlice<UInt8>, _ direction: FaultProxy.Direction
  ) {
    switch fault {
    case .delay(let duration):
      usleep(UInt32(duration / .microseconds(1)))
      pass(message, direction)
    case .cut: cut()
    case .answerLost:
      state.withLock { $0.isAnswerLost = true }
      pass(message, direction)
    case .half:
      pass(message.prefix(message.count / 2), direction)
      cut()
    case .blackHole: silence()
    case .replacement(let old, let new):
      var changed = message
      if let range = message.firstRange(of: Array(old.utf8)) {
        changed.replaceSubrange(range, with: new.utf8)
      }
      pass(changed, direction)
    }
  }
}

extension ProxiedLink.State {
  /// Returns the length of the first message of some bytes; `nil` when they are too few to tell.
  mutating func length(of direction: FaultProxy.Direction, _ bytes: [UInt8]) -> Int? {
    func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 << 8 | Int($1) } }
    if isInTLS { return bytes.count >= 5 ? 5 + number(3..<5) : nil }
    if direction == .toClient, isAskedForTLS, let first = bytes.first {
      isAskedForTLS = false
      isInTLS = first == UInt8(ascii: "S")
      return 1
    }
    guard direction == .toServer, !isStarted else {
      return bytes.count >= 5 ? 1 + number(1..<5) : nil
    }
    guard bytes.count >= 8, bytes.count >= number(0..<4) else { return nil }
    let requestForTLS = 80_877_103
    isAskedForTLS = number(4..<8) == requestForTLS
    isStarted = !isAskedForTLS
    return number(0..<4)
  }
}
