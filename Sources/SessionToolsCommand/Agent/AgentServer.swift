import SealedStore
import SessionToolsBase

/// The agent's loop, which answers one request for each connection.
///
/// One thread serves all connections, and waits for none: a peer that sends nothing is dropped
/// after a while, or as soon as its place is needed. Peers of other users, root's among them, are
/// dropped at once; the directory's mode keeps most of them away before.
struct AgentServer {
  /// The number of connections whose requests may be on their way at the same time.
  private static let maximumConnectionCount = 16
  /// How long a request may take to arrive.
  private static let requestTime = Duration.seconds(2)
  /// How long an agent without a key waits for its first one.
  private static let startTime = Duration.seconds(30)
  /// How often the agent looks whether its socket is still there, even without a notification.
  private static let maximumPause = Duration.seconds(60)

  private struct Connection {
    let socket: LocalSocket
    var request = IncomingAgentMessage()
    let end: Duration
  }

  private let door: AgentDoor
  private let keys: KeptKeys
  private let wake: System.Wake
  private let watch: DesktopWatch
  private let clock = SystemSessionClock()
  private var connections: [Connection] = []
  private var hasKeptAny = false

  /// - Parameters:
  ///   - door: The socket.
  ///   - keys: The keys, which other threads may remove.
  ///   - wake: Signalled by other threads that have removed keys.
  ///   - watch: What removes them with the desktop's lock; begun with every key that is to be kept.
  init(_ door: AgentDoor, keys: KeptKeys, wake: System.Wake, watch: DesktopWatch) {
    self.door = door
    self.keys = keys
    self.wake = wake
    self.watch = watch
  }

  /// Answers requests until the last key is gone, or the socket.
  ///
  /// - Throws: An error if no connection can be accepted; the keys are gone with the process then.
  mutating func run() throws(StoreError) {
    defer {
      keys.forgetAll()
      door.close()
    }
    let startEnd = clock.uptime + Self.startTime
    while door.isOpen, isNeeded(until: startEnd) {
      LocalSocket.wait(
        for: [door.listener.descriptor, wake.descriptor] + connections.map(\.socket.descriptor)
          + (door.notifications.map { [$0.descriptor] } ?? []),
        atMost: pause(until: startEnd))
      wake.clear()
      door.notifications?.drain()
      try acceptConnections()
      serveConnections()
      KeyMemory.wipeStack()
    }
  }

  private func isNeeded(until startEnd: Duration) -> Bool {
    keys.removeEnded()
    guard keys.isEmpty, connections.isEmpty else { return true }
    return !hasKeptAny && clock.uptime < startEnd
  }

  private func pause(until startEnd: Duration) -> Duration {
    let ends = [keys.firstEnd, hasKeptAny ? nil : startEnd].compactMap(\.self)
    guard let first = (connections.map(\.end) + ends).min() else { return Self.maximumPause }
    return min(max(.zero, first - clock.uptime), Self.maximumPause)
  }

  private mutating func acceptConnections() throws(StoreError) {
    do throws(SystemCallError) {
      while let socket = try door.listener.accept() {
        guard socket.peerUser == CurrentProcess.user else { continue }
        // The oldest has had the most time; its program connects again.
        if connections.count == Self.maximumConnectionCount { connections.removeFirst() }
        connections.append(Connection(socket: socket, end: clock.uptime + Self.requestTime))
        serveConnections()
      }
    } catch {
      throw StoreError(error, path: try KeyAgent.directoryPath)
    }
  }

  /// Answers the requests that have arrived, and drops connections that are over.
  private mutating func serveConnections() {
    let now = clock.uptime
    var open: [Connection] = []
    for var connection in connections {
      switch connection.request.read(from: connection.socket) {
      case .complete(let message): connection.socket.send(answer(to: message).message)
      case .incomplete: if now < connection.end { open.append(connection) }
      case .ended: break
      }
    }
    connections = open
  }

  private mutating func answer(to message: AgentMessage) -> AgentAnswer {
    do throws(StoreError) {
      switch try AgentRequest(message) {
      case .get(let store): return keys.key(of: store).map(AgentAnswer.key) ?? .noKey
      case .keep(let store, let key, let seconds):
        // A thread begins with the registers of the one that starts it, and may store them.
        KeyMemory.wipeStack()
        watch.begin()
        let time = min(Duration.seconds(Int64(seconds)), KeepingTime.longest)
        guard keys.keep(key, of: store, for: time) else { return .full }
        hasKeptAny = true
        return .done
      case .forget(let store): keys.forget(store)
      case .forgetAll: keys.forgetAll()
      case nil: return .notUnderstood
      }
      return .done
    } catch {
      // There is no memory for the key.
      return .full
    }
  }
}
