import Foundation
import Synchronization
import SessionToolsTestSupport

/// A proxy in front of a server that does one wrong thing at a chosen message of the protocol.
package final class FaultProxy: Sendable {
  package enum Direction: Sendable, CaseIterable {
    case toServer
    case toClient
  }

  package enum Fault: Sendable {
    case delay(Duration)
    /// Closes the connection before the message.
    case cut
    /// Passes the message on, and closes the connection in place of the next answer.
    case answerLost
    /// Passes the first half of the message on, and closes the connection.
    case half
    /// Passes nothing on any more, and keeps the connection open.
    case blackHole
    /// Replaces bytes of the message by others of the same number.
    case replacement(of: String, by: String)
  }

  package struct Counts: Sendable, Equatable {
    package var toServer = 0
    package var toClient = 0

    package init() {}

    package subscript(direction: Direction) -> Int {
      get { direction == .toServer ? toServer : toClient }
      set { if direction == .toServer { toServer = newValue } else { toClient = newValue } }
    }
  }

  private struct Plan {
    var fault: Fault?
    var direction = Direction.toServer
    var number = 0
    var counts = Counts()
  }

  package let port: UInt16
  private let serverPort: UInt16
  private let listener: Int32
  private let plan = Mutex(Plan())
  private let links = Mutex<[ProxiedLink]>([])
  private let silent = Mutex(false)

  package init(to serverPort: UInt16) throws {
    self.serverPort = serverPort
    (listener, port) = try LocalPort.listen()
    let listener = listener
    Self.onThread { [weak self] in
      while true {
        _ = Self.hasArrival(listener, milliseconds: -1)
        // Otherwise the proxy was released.
        guard let self, acceptLink() else { break }
      }
      close(listener)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    links.withLock { $0.forEach { $0.cut() } }
  }

  /// Plans a fault at a message, counted from 0 and from now on, and over all connections.
  package func plan(_ fault: Fault?, at number: Int = 0, _ direction: Direction = .toServer) {
    plan.withLock { $0 = Plan(fault: fault, direction: direction, number: number) }
  }

  /// How many messages were seen since the last plan was made.
  package var counts: Counts { plan.withLock { $0.counts } }

  /// Whether the fault of the last plan has not been committed.
  package var isPlanned: Bool { plan.withLock { $0.fault != nil } }

  /// Whether no connection is open or waits to be accepted, so that no message is under way.
  package var isIdle: Bool {
    links.withLock { links in
      !Self.hasArrival(listener, milliseconds: 0) && links.allSatisfy(\.isClosed)
    }
  }

  /// Returns whether a connection waits to be accepted, after waiting for one; -1 is no limit.
  private static func hasArrival(_ listener: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&waiting, 1, milliseconds) != 0
  }

  /// Whether the line is cut off: nothing passes, and connections of that time never recover.
  package var isSilent: Bool {
    get { silent.withLock(\.self) }
    set {
      silent.withLock { $0 = newValue }
      if newValue { links.withLock { $0.forEach { $0.silence() } } }
    }
  }

  private static func onThread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread { body() }
    thread.stackSize = 1 << 18
    thread.start()
  }

  /// Accepts the connection that waits; returns `false` when there will be no more.
  private func acceptLink() -> Bool {
    var isOver = false
    let link = links.withLock { links -> ProxiedLink? in
      let client = accept(listener, nil, nil)
      isOver = client < 0
      guard !isOver else { return nil }
      guard let server = LocalPort.connect(to: serverPort) else {
        close(client)
        return nil
      }
      let link = ProxiedLink(client: client, server: server)
      links.append(link)
      return link
    }
    if let link { start(link) }
    return !isOver
  }

  private func start(_ link: ProxiedLink) {
    if isSilent { link.silence() }
    for direction in Direction.allCases {
      Self.onThread { [weak self] in
        var buffer: [UInt8] = []
        while link.read(direction, into: &buffer) {
          while let message = link.nextMessage(direction, in: &buffer) {
            guard let fault = self?.fault(at: direction) else {
              link.pass(message, direction)
              continue
            }
            link.commit(fault, at: message, direction)
          }
        }
        link.end(direction)
      }
    }
  }

  /// Counts a message; returns the fault that is planned for it.
  private func fault(at direction: Direction) -> Fault? {
    plan.withLock { plan in
      defer { plan.counts[direction] += 1 }
      guard plan.direction == direction, plan.counts[direction] == plan.number else { return nil }
      return plan.fault.take()
    }
  }
}
