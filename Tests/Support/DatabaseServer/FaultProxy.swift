import Foundation
import Synchronization
import TestSupport

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
    let (listener, serverPort) = (listener, serverPort)
    Self.onThread { [weak self] in
      while true {
        let client = accept(listener, nil, nil)
        // The proxy was released.
        guard client >= 0, let self else { break }
        guard let server = LocalPort.connect(to: serverPort) else {
          close(client)
          continue
        }
        self.add(ProxiedLink(client: client, server: server))
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

  /// Whether no connection is open, so that no message is under way.
  package var isIdle: Bool { links.withLock { $0.allSatisfy(\.isClosed) } }

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

  private func add(_ link: ProxiedLink) {
    links.withLock { $0.append(link) }
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
