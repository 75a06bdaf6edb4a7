import Dispatch
import Glibc
package import SessionToolsBase
import Synchronization

/// Listens on the loopback interface, and answers requests one by one, until it is closed.
///
/// Requests by processes of other users, or of a user that cannot be found, are refused.
///
/// One thread does all of it. Whoever connects and says nothing, or little, is thrown out after some
/// seconds, and before that when there are too many: whoever says something has been read by then.
package final class LoopbackListener: Sendable {
  package struct Limits: Sendable {
    /// How long a connection may take to say all that it has to say.
    package var patience = Duration.seconds(10)
    /// Many less than a process may have open, many more than a browser opens.
    package var largestConnectionCount = 128

    package init() {}
  }

  package let family: LoopbackSocket.Family
  package let port: UInt16
  private let socket: Mutex<HeldSocket>
  private let wake: LoopbackWake
  private let limits: Limits

  private struct HeldSocket: ~Copyable {
    var socket: LoopbackSocket?
    /// Those who wait until everything is closed.
    var waiters: [CheckedContinuation<Void, Never>] = []
    var isServing = false
    var isEnded = false
  }

  /// Listens from now on; those who connect wait until ``serve(_:)``.
  ///
  /// - Parameters:
  ///   - family: The address.
  ///   - port: The port; 0 for any that is free.
  ///   - limits: What a connection may do.
  /// - Throws: What the kernel says.
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

  /// The part of an address before the path.
  var authority: String { "\(family.rawValue):\(port)" }

  /// Answers from now on, on a thread of its own.
  ///
  /// - Parameter answer: Called with each request of this process's user, or what is wrong with it; must
  ///   not block.
  package func serve(
    _ answer:
      @escaping @Sendable (Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackAnswer
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
      // What came at the same time is answered: a second callback is told that it is one.
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

  /// Closes all of them, before anybody is told that they are closed.
  private func discard(_ round: consuming LoopbackRound, _ listener: consuming LoopbackSocket) {}

  /// Closes everything and waits until it is; nobody who is connected can hold it up.
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

/// The connections that a listener has, and what is done with them.
private struct LoopbackRound: ~Copyable {
  private struct Connection: ~Copyable {
    let socket: LoopbackSocket
    let end: ContinuousClock.Instant
    var bytes: [UInt8] = []
  }

  let limits: LoopbackListener.Limits
  let answer: @Sendable (Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackAnswer
  /// In the order in which they came.
  private var numbers: [Int32] = []
  private var connections: [Int32: Held] = [:]
  private var isFull = false

  /// An object, because dictionaries hold no values that cannot be copied.
  private final class Held {
    var connection: Connection

    init(_ connection: consuming Connection) {
      self.connection = connection
    }
  }

  init(
    limits: LoopbackListener.Limits,
    answer: @escaping @Sendable (Result<LoopbackRequest, LoopbackRequest.Fault>) -> LoopbackAnswer
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
    // There was no descriptor left for another one: others may give one back.
    if isFull { left = min(left ?? .milliseconds(100), .milliseconds(100)) }
    let listening = isFull ? numbers : descriptors(listener)
    return waitForInput(on: listening + [wake], atMost: left)
  }

  mutating func serve(_ listener: borrowing LoopbackSocket, _ ready: Set<Int32>) {
    // Those who have said something come before those who are new.
    for number in numbers where ready.contains(number) { read(number) }
    let now = ContinuousClock.now
    for number in numbers where connections[number].map({ $0.connection.end <= now }) ?? false {
      close(number)
    }
    isFull = false
    // Not all of them, since somebody may connect for ever.
    for _ in 0..<limits.largestConnectionCount / 2 {
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
    if numbers.count >= limits.largestConnectionCount, let oldest = numbers.first { close(oldest) }
    let number = socket.descriptor
    connections[number] = Held(Connection(socket: socket, end: .now + limits.patience))
    numbers.append(number)
    // Most say at once what they want.
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
      // Only what is new is looked at, or byte after byte of a long head would cost its square.
      guard LoopbackRequest.mayEnd(held.connection.bytes, after: old) else { return }
      let request = Result { () throws(LoopbackRequest.Fault) in
        try LoopbackRequest(held.connection.bytes)
      }
      // Other users of the machine can read the arguments of browsers, where the state is.
      let isOwn = held.connection.socket.peerUser() == CurrentProcess.user
      let answer = isOwn ? answer(request) : .foreign
      held.connection.socket.write(answer.bytes)
      close(number)
      // The browser has its page before the login goes on.
      answer.completion?()
    }
  }
}
