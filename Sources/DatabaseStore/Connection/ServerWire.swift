import CSessionToolsLinux
import Glibc
import SecretStores

/// The socket of a server, between it and libpq.
///
/// libpq reads for as long as a server sends: in one call, and into memory that grows with whatever
/// length a message claims to have. And it answers a request for the password before anyone else
/// has seen it. So libpq has one end of a pair of sockets where it had the server's, and gets what
/// arrives in small pieces, which are counted, and looked at while they are not encrypted. While
/// libpq reads a piece, nothing else can arrive.
///
/// It is used by one thread at a time.
package final class ServerWire {
  /// Why a wait ended.
  package enum Outcome {
    case ready
    /// The other descriptor, which is there to end the wait.
    case woken
    case deadline
    /// The server sends more than it may.
    case excess
    /// The server asks for what libpq must not give.
    case refused
  }

  /// Where the server is, as the kernel says.
  enum Location {
    case localSocket, loopback, elsewhere
  }

  /// What arrives until libpq has logged in.
  private enum Stage {
    /// libpq has not asked for anything.
    case silent
    /// One byte that says whether there will be TLS.
    case replyToTLS
    case requests(AuthenticationRequests)
    /// What cannot be read any more, or need not be.
    case passed
  }

  let location: Location
  /// Whether the server has no TLS, although libpq asked for it.
  private(set) var isWithoutTLS = false
  /// What the server asked for that libpq must not answer, and has not received.
  private(set) var refused: AuthenticationRequests.Refused?

  private let server: Int32
  /// The other end of the pair.
  private let near: Int32
  /// libpq's own number for its end.
  private let far: Int32
  private let farIdentity: ino_t

  private var stage = Stage.silent
  private var outgoing = Piece()
  private var incoming = Piece()
  private var hasEnded = false
  /// How many bytes the server may still send.
  private var allowedByteCount = 0
  private(set) var receivedByteCount = 0
  /// Whether the server has sent anything.
  private(set) var hasReceived = false
  /// How many of the bytes are left that had arrived when the deadline passed.
  private var lateByteCount: Int?

  private static let pieceByteCount = 1 << 14

  /// Bytes that have been received and not all sent.
  private struct Piece {
    var bytes = [UInt8](repeating: 0, count: ServerWire.pieceByteCount)
    var rest = 0..<0

    /// Receives bytes; returns as `recv`.
    mutating func receive(from socket: Int32, atMost byteCount: Int) -> Int {
      let count = unsafe recv(
        socket, &bytes, min(byteCount, bytes.count), Int32(MSG_DONTWAIT))
      rest = 0..<max(0, count)
      return count
    }

    /// Sends what is left; returns `false` when the peer can receive nothing any more.
    mutating func send(to socket: Int32) -> Bool {
      let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
      while !rest.isEmpty {
        let count = unsafe bytes.withUnsafeBytes { bytes in
          unsafe Glibc.send(
            socket, bytes.baseAddress.map { unsafe $0 + rest.lowerBound }, rest.count, flags)
        }
        if count > 0 {
          rest = rest.lowerBound + count..<rest.upperBound
        } else if errno != EINTR {
          return errno == EAGAIN
        }
      }
      return true
    }
  }

  private init(_ location: Location, server: Int32, near: Int32, far: Int32, _ identity: ino_t) {
    self.location = location
    self.server = server
    self.near = near
    self.far = far
    farIdentity = identity
  }

  deinit {
    close(server)
    close(near)
  }

  /// Comes between libpq and its server; `nil` while the socket is not connected.
  ///
  /// - Throws: `notSent` when this process may open no more descriptors.
  package static func between(_ descriptor: Int32) throws(DatabaseFailure) -> ServerWire? {
    let location: Location
    switch session_tools_peer_location(descriptor) {
    case session_tools_peer_local_socket: location = .localSocket
    case session_tools_peer_loopback: location = .loopback
    case session_tools_peer_elsewhere: location = .elsewhere
    default: return nil
    }
    var pair: [Int32] = [-1, -1]
    let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    guard unsafe socketpair(AF_UNIX, Int32(kind), 0, &pair) == 0 else { throw withoutDescriptor() }
    defer { close(pair[1]) }
    let server = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard server >= 0, dup3(pair[1], descriptor, O_CLOEXEC) >= 0,
      let identity = identity(of: descriptor)
    else {
      let failure = withoutDescriptor()
      close(pair[0])
      if server >= 0 { close(server) }
      throw failure
    }
    return ServerWire(location, server: server, near: pair[0], far: descriptor, identity)
  }

  private static func withoutDescriptor() -> DatabaseFailure {
    .notSent(.noConnection("no socket can be made: \(SystemCallError("socketpair", errno))"))
  }

  private static func identity(of descriptor: Int32) -> ino_t? {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? status.st_ino : nil
  }

  /// Whether libpq still has this pair, and has not begun again with another socket.
  func isBehind(_ descriptor: Int32) -> Bool {
    descriptor == far && Self.identity(of: descriptor) == farIdentity
  }

  /// The user of the process that serves the connection; `nil` when the kernel does not know it.
  ///
  /// Before the server has answered, no process may have taken the connection yet.
  var serverUser: UInt32? {
    var user: UInt32 = 0
    switch location {
    case .localSocket:
      return unsafe session_tools_local_peer_user(server, &user) == 0 ? user : nil
    case .loopback: return unsafe session_tools_peer_user(server, &user) == 0 ? user : nil
    case .elsewhere: return nil
    }
  }

  /// Sends nothing any more, and receives nothing.
  func abandon() { shutdown(server, Int32(SHUT_RDWR)) }

  /// Sends nothing any more.
  func stopSending() { shutdown(server, Int32(SHUT_WR)) }

  // MARK: - Passing on

  /// Begins an operation for which the server may send a number of bytes.
  package func begin(allowing byteCount: Int) {
    allowedByteCount = byteCount
    receivedByteCount = 0
    lateByteCount = nil
  }

  /// Notes what libpq waits for while it connects.
  func expect(replyToTLS isReply: Bool) {
    guard case .silent = stage else { return }
    stage = isReply ? .replyToTLS : .requests(AuthenticationRequests())
  }

  /// Passes on what libpq has written; returns whether the kernel has taken all of it.
  ///
  /// What a server that has closed the connection does not take is dropped: what it said before is
  /// still to be read, as with libpq itself.
  func send() -> Bool {
    while true {
      if outgoing.rest.isEmpty, outgoing.receive(from: near, atMost: .max) <= 0 { return true }
      let isLast = outgoing.rest.count < Self.pieceByteCount
      if !outgoing.send(to: server) { outgoing.rest = 0..<0 }
      guard outgoing.rest.isEmpty else { return false }
      // libpq writes nothing meanwhile.
      if isLast { return true }
    }
  }

  /// Whether libpq has something to read.
  var hasPassedInput: Bool { session_tools_arrived_byte_count(far) > 0 || hasEnded }

  /// Whether something has arrived, or the server has closed the connection.
  var hasInput: Bool { hasPassedInput || SocketWait.hasInput(server) }

  /// Whether the server sends nothing any more.
  var isEnding: Bool { hasEnded || SocketWait.hasEnded(server) }

  /// Waits until libpq can go on.
  ///
  /// After the deadline, what had arrived before it is still passed on: a process that was
  /// suspended must not lose its answer. A server that goes on sending gains no time.
  ///
  /// - Parameters:
  ///   - events: `POLLIN`, `POLLOUT` or both.
  ///   - waker: A descriptor that ends the wait when it can be read.
  ///   - deadline: When the wait ends at the latest.
  /// - Returns: Why the wait ended.
  package func wait(
    _ events: Int32, or waker: Int32 = -1, until deadline: ContinuousClock.Instant
  ) -> Outcome {
    let wantsInput = events & Int32(POLLIN) != 0
    while true {
      let isAllSent = send()
      if wantsInput, hasPassedInput || !incoming.rest.isEmpty {
        _ = incoming.send(to: near)
        return .ready
      }
      if events & Int32(POLLOUT) != 0, isAllSent { return .ready }
      let isLate = ContinuousClock.now >= deadline
      if isLate {
        lateByteCount = lateByteCount ?? Int(session_tools_arrived_byte_count(server))
        guard wantsInput, lateByteCount != 0 else { return .deadline }
      }
      let expected = (wantsInput ? Int32(POLLIN) : 0) | (isAllSent ? 0 : Int32(POLLOUT))
      switch SocketWait.wait(for: server, expected, or: waker, until: deadline) {
      case .ready where wantsInput:
        if let outcome = receive() { return outcome }
      case .ready: break
      case .woken: return .woken
      case .deadline: if isLate { return .deadline }
      }
    }
  }

  /// Passes on a piece of what has arrived.
  ///
  /// - Returns: Whether libpq can go on; `nil` when nothing had arrived.
  func receive() -> Outcome? {
    if incoming.rest.isEmpty {
      // One byte more shows whether the server has closed the connection.
      if allowedByteCount == 0, session_tools_arrived_byte_count(server) > 0 { return .excess }
      var byteCount = min(max(allowedByteCount, 1), lateByteCount ?? .max)
      if case .replyToTLS = stage { byteCount = 1 }
      let count = incoming.receive(from: server, atMost: byteCount)
      if count < 0, errno == EAGAIN || errno == EINTR { return nil }
      guard count > 0 else {
        hasEnded = true
        shutdown(near, Int32(SHUT_WR))
        return .ready
      }
      allowedByteCount -= count
      receivedByteCount += count
      hasReceived = true
      lateByteCount = lateByteCount.map { $0 - count }
      guard inspect(incoming.bytes[incoming.rest]) else { return .refused }
    }
    // What the kernel has no room for follows when libpq has read this.
    _ = incoming.send(to: near)
    return .ready
  }

  /// Looks at what arrived; returns whether libpq may have it.
  private func inspect(_ bytes: ArraySlice<UInt8>) -> Bool {
    switch stage {
    case .silent, .passed: return true
    case .replyToTLS:
      isWithoutTLS = bytes.first == UInt8(ascii: "N")
      stage = bytes.first == UInt8(ascii: "S") ? .passed : .requests(AuthenticationRequests())
      guard !isWithoutTLS, case .requests = stage else { return true }
      return inspect(bytes)
    case .requests(var requests):
      refused = requests.read(bytes)
      stage = requests.isOver ? .passed : .requests(requests)
      return refused == nil
    }
  }
}
