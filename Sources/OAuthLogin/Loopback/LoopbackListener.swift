import Dispatch
import Glibc
package import SessionToolsBase
import Synchronization

/// A listener on the loopback interface, which answers requests one by one until it is closed.
///
/// Requests by processes of other users, or of a user that cannot be determined, are refused.
///
/// One thread does all of it. A connection that sends nothing, or too little, is closed after some
/// seconds, or earlier when there are too many connections: by then, those that sent something have
/// been read.
package final class LoopbackListener: Sendable {
  package struct Limits: Sendable {
    /// How long a connection may take to send its request.
    package var patience = Duration.seconds(10)
    /// Far fewer than a process may have open, far more than a browser opens.
    package var maximumConnectionCount = 128

    package init() {}
  }

  package let family: LoopbackSocket.Family
  package let port: UInt16
  private let socket: Mutex<HeldSocket>
  private let wake: LoopbackWake
  private let limits: Limits

  private struct HeldSocket: ~Copyable {
    var socket: LoopbackSocket?
    /// Callers of ``close()`` that wait until everything is closed.
    var waiters: [CheckedContinuation<Void, Never>] = []
    var isServing = false
    var isEnded = false
  }

  /// Listens from now on; connections wait until ``serve(_:)``.
  ///
  /// - Parameters:
  ///   - family: The address.
  ///   - port: The port; 0 for any that is free.
  ///   - limits: The limits on connections.
  /// - Throws: The kernel's error.
  package init(
    on family: LoopbackSocket.Family, port: UInt16 = 0, limits: Limits = Limits()
  ) throws(SystemCallError) {
    let socket = try LoopbackSocket.listening(on: family, port: port)
    wake = try LoopbackWake()
    self.family = family
    self.port = try socket.port()
    self.limits = limits
    self.socket = Mutex(HeldSocket(socket: consume socket))
  }

  /// Answers from now on, on its own thread.
  ///
  /// - Parameter answer: Called with each request of this process's user, or with its fault; must
  ///   not block.
  package func serve(
    _ answer:
      @escaping @Sendable (Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackResponse
  ) {
    socket.withLock { $0.isServing = true }
    DispatchQueue(label: "session-tools.weblogin").async { [self] in
      guard let listener = socket.withLock({ $0.socket.take() }) else { return }
      var round = LoopbackRound(limits: limits, answer: answer)
      while true {
        let ready = round.wait(for: listener, wake: wake.descriptor)
        if ready.contains(wake.descriptor) { break }
        round.serve(listener, ready)
      }
      // Answer requests that came at the same time: a second callback gets its error page.
      round.serve(listener, waitForInput(on: round.descriptors(listener), atMost: .zero))
      discard(round, listener)
      let waiters = socket.withLock { held in
        held.isEnded = true
        defer { held.waiters = [] }
        return held.waiters
      }
      for waiter in waiters { waiter.resume() }
    }
  }

  /// Closes all sockets before the waiters are notified.
  private func discard(_ round: consuming LoopbackRound, _ listener: consuming LoopbackSocket) {}

  /// Closes everything and waits until it is closed; no peer can delay it.
  package func close() async {
    wake.signal()
    await withCheckedContinuation { continuation in
      let isEnded = socket.withLock { held in
        if !held.isServing { held.socket = nil }
        if held.isServing, !held.isEnded { held.waiters.append(continuation) }
        return !held.isServing || held.isEnded
      }
      if isEnded { continuation.resume() }
    }
  }
}

/// The connections of a listener and their handling.
private struct LoopbackRound: ~Copyable {
  private struct Connection: ~Copyable {
    let socket: LoopbackSocket
    let end: ContinuousClock.Instant
    var bytes: [UInt8] = []
  }

  let limits: LoopbackListener.Limits
  let answer: @Sendable (Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackResponse
  /// In the order in which they were accepted.
  private var numbers: [Int32] = []
  private var connections: [Int32: Held] = [:]
  private var isFull = false

  /// An object, because dictionaries hold no noncopyable values.
  private final class Held {
    var connection: Connection

    init(_ connection: consuming Connection) {
      self.connection = connection
    }
  }

  init(
    limits: LoopbackListener.Limits,
    answer: @escaping @Sendable (Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackResponse
  ) {
    self.limits = limits
    self.answer = answer
  }

  func descriptors(_ listener: borrowing LoopbackSocket) -> [Int32] {
    numbers + [listener.descriptor]
  }

  /// Waits until there is something to do.
  func wait(for listener: borrowing LoopbackSocket, wake: Int32) -> Set<Int32> {
    let end = numbers.first.flatMap { connections[$0]?.connection.end }
    var left = end.map { $0 - .now }
    // No descriptor was left for another connection: closing others may free one.
    if isFull { left = min(left ?? .milliseconds(100), .milliseconds(100)) }
    let listening = isFull ? numbers : descriptors(listener)
    return waitForInput(on: listening + [wake], atMost: left)
  }

  mutating func serve(_ listener: borrowing LoopbackSocket, _ ready: Set<Int32>) {
    // Connections that have sent something come before new ones.
    for number in numbers where ready.contains(number) { read(number) }
    let now = ContinuousClock.now
    for number in numbers where connections[number].map({ $0.connection.end <= now }) ?? false {
      close(number)
    }
    isFull = false
    // Accept a limited number, because peers could connect without end.
    for _ in 0..<limits.maximumConnectionCount / 2 {
      do throws(SystemCallError) {
        guard let socket = try listener.accept() else { break }
        add(socket)
      } catch {
        isFull = true
        if let oldest = numbers.first { close(oldest) }
        break
      }
    }
  }

  private mutating func add(_ socket: consuming LoopbackSocket) {
    if numbers.count >= limits.maximumConnectionCount, let oldest = numbers.first { close(oldest) }
    let number = socket.descriptor
    connections[number] = Held(Connection(socket: socket, end: .now + limits.patience))
    numbers.append(number)
    // Most peers send their request at once.
    read(number)
  }

  private mutating func close(_ number: Int32) {
    connections[number] = nil
    numbers.removeAll { $0 == number }
  }

  private mutating func read(_ number: Int32) {
    guard let held = connections[number] else { return }
    switch held.connection.socket.read(atMost: 16 << 10) {
    case .nothingYet: return
    case .ended: close(number)
    case .bytes(let bytes):
      let old = held.connection.bytes.count
      held.connection.bytes += bytes
      // Search only the new bytes: a long head sent byte by byte would otherwise take quadratic
      // time.
      guard LoopbackRequest.mayEnd(held.connection.bytes, after: old) else { return }
      let request = Result { () throws(LoopbackRequest.Fault) in
        try LoopbackRequest(held.connection.bytes)
      }
      // Other users of the machine can read the arguments of browsers, which contain the state.
      let isOwn = held.connection.socket.peerUser() == CurrentProcess.user
      let answer = isOwn ? answer(request) : .foreign
      held.connection.socket.write(answer.bytes)
      close(number)
      // The browser has its page before the login continues.
      answer.completion?()
    }
  }
}
