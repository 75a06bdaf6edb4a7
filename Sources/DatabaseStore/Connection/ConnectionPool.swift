import Dispatch
import SecretStores

/// The connections of one process to a database: opened when they are needed, and closed after they
/// were idle for a minute.
///
/// Callers get a connection in the order in which they asked, and wait no longer than their
/// deadline. After a failure one connection at a time is opened, with pauses that grow: a server
/// that comes back is not met by all callers at once.
package final class ConnectionPool: Sendable {
  private let opening: ConnectionOpening
  private let maximumCount: Int
  private let idleTime: Duration
  private let openingTime: Duration
  private let process = CurrentProcess.identifier
  private let state = Lock(State())
  /// Serial, so that it has its own thread however many others are blocked.
  private let closing = DispatchQueue(label: "session-tools.database.idle")

  /// Makes a pool without a connection.
  ///
  /// - Parameters:
  ///   - opening: How connections are opened.
  ///   - maximumCount: The most connections at the same time, 1 or more.
  ///   - idleTime: How long a connection that is not used stays open.
  ///   - openingTime: How long opening one may take, if the caller has that much time.
  package init(
    _ opening: ConnectionOpening, maximumCount: Int = 4, idleTime: Duration = .seconds(60),
    openingTime: Duration = .seconds(10)
  ) {
    precondition(maximumCount > 0, "a pool has at least one connection")
    self.opening = opening
    self.maximumCount = maximumCount
    self.idleTime = idleTime
    self.openingTime = openingTime
  }

  /// Runs a closure with a connection that no other thread uses meanwhile.
  ///
  /// Blocks the thread until there is one. One attempt to open one is made: a caller that has time
  /// calls again, and then waits until the next attempt may be made.
  ///
  /// - Throws: `notSent`, `timedOut`, or what the closure throws.
  package func withConnection<Result>(
    until deadline: ContinuousClock.Instant,
    _ body: (DatabaseConnection) throws(DatabaseFailure) -> Result
  ) throws(DatabaseFailure) -> Result {
    // Before the lock, which a thread of the parent may have held.
    guard process == CurrentProcess.identifier else { throw .notSent(.forkedChild) }
    let connection = try take(until: deadline)
    defer { giveBack(connection) }
    return try body(connection)
  }

  /// The number of connections that are open or being opened.
  package var count: Int { state.withLock { $0.count } }

  /// The number of callers that wait for a connection.
  package var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// The connections, now.
  var connections: PooledConnections {
    state.withLock { state in
      PooledConnections(
        usedCount: state.usedCount, idleCount: state.idle.count, openingCount: state.openingCount,
        waiterCount: state.waiters.count, maximumCount: maximumCount)
    }
  }

  private func take(
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseConnection {
    if let connection = takeIdle() { return connection }
    let waiter = Waiter()
    serve { $0.waiters.append(waiter) }
    while true {
      let (grant, wakeTime) = state.withLock { ($0.grant(to: waiter), $0.pause.end) }
      switch grant {
      case .connection(let connection):
        if connection.isAlive() { return connection }
        // After a restart of the server all of them are like this one.
        serve { state in
          state.usedCount -= 1
          state.waiters.insert(waiter, at: 0)
        }
        continue
      case .opening: return try open(until: deadline)
      case nil: break
      }
      guard ContinuousClock.now < deadline else { return try leave(waiter) }
      let end = min(deadline, wakeTime.flatMap { $0 > .now ? $0 : nil } ?? deadline)
      _ = waiter.isWoken.wait(timeout: .now() + (end - .now).dispatchInterval)
      serve { _ in }
    }
  }

  /// Takes an idle connection when no one waits for one.
  private func takeIdle() -> DatabaseConnection? {
    while true {
      let taken = state.withLock { state -> DatabaseConnection? in
        guard state.waiters.isEmpty, let idle = state.idle.popLast() else { return nil }
        state.usedCount += 1
        return idle.connection
      }
      guard let taken else { return nil }
      if taken.isAlive() { return taken }
      serve { $0.usedCount -= 1 }
    }
  }

  /// Leaves the queue at the deadline, with what was granted at the last moment.
  private func leave(_ waiter: Waiter) throws(DatabaseFailure) -> DatabaseConnection {
    var connection: DatabaseConnection?
    var failure: DatabaseFailure?
    serve { state in
      switch state.grant(to: waiter) {
      case .connection(let granted): connection = granted
      case .opening: state.openingCount -= 1
      case nil: state.waiters.removeAll { $0 === waiter }
      }
      state.isFirstToCheck = true
      failure = state.pause.failure
    }
    if let connection { return connection }
    throw failure ?? .timedOut
  }

  private func open(
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseConnection {
    do throws(DatabaseFailure) {
      let connection = try opening.open(until: min(deadline, .now + openingTime))
      serve { state in
        state.openingCount -= 1
        state.usedCount += 1
        state.pause.succeed()
      }
      return connection
    } catch {
      serve { state in
        state.openingCount -= 1
        state.pause.fail(error)
        state.isFirstToCheck = true
      }
      throw error
    }
  }

  private func giveBack(_ connection: DatabaseConnection) {
    let isUsable = connection.isUsable
    var alarm: Duration?
    serve { state in
      state.usedCount -= 1
      guard isUsable else { return }
      state.idle.append(IdleConnection(connection: connection, since: .now))
      alarm = state.setAlarm(after: idleTime)
    }
    closeIdle(after: alarm)
  }

  /// Makes a change under the lock, and wakes the callers who can go on after it.
  private func serve(_ change: (inout State) -> Void) {
    let woken = state.withLock { state in
      change(&state)
      return state.serveWaiters(maximumCount: maximumCount)
    }
    for waiter in woken { waiter.isWoken.signal() }
  }

  // MARK: - Idle connections

  private func closeIdle(after alarm: Duration?) {
    guard let alarm else { return }
    closing.asyncAfter(deadline: .now() + alarm.dispatchInterval) { [weak self] in
      self?.closeIdle()
    }
  }

  /// Closes connections that have been idle since a moment.
  func closeIdle(unusedSince moment: ContinuousClock.Instant) {
    // Released outside of the lock, because closing sends a farewell.
    var closed: [IdleConnection] = []
    serve { state in
      closed = state.idle.filter { $0.since <= moment }
      state.idle.removeAll { $0.since <= moment }
    }
    _ = closed
  }

  private func closeIdle() {
    state.withLock { $0.isAlarmSet = false }
    closeIdle(unusedSince: .now - idleTime)
    closeIdle(after: state.withLock { $0.setAlarm(after: idleTime) })
  }
}

extension ConnectionPool {
  /// A caller that waits for a connection.
  private final class Waiter: Sendable {
    let isWoken = DispatchSemaphore(value: 0)
  }

  private enum Grant {
    case connection(DatabaseConnection)
    /// The right to open one.
    case opening
  }

  private struct IdleConnection {
    let connection: DatabaseConnection
    let since: ContinuousClock.Instant
  }

  private struct State {
    /// Longest idle first; the last is used next, so that those that are not needed stay idle.
    var idle: [IdleConnection] = []
    var usedCount = 0
    var openingCount = 0
    var waiters: [Waiter] = []
    var grants: [ObjectIdentifier: Grant] = [:]
    var pause = OpeningPause()
    var isAlarmSet = false
    /// Whether the first caller has to look when the pause ends: it may not have been the first, or
    /// there was no pause.
    var isFirstToCheck = false

    var count: Int { idle.count + usedCount + openingCount }

    /// Sets the alarm for the connection that has been idle for longest.
    ///
    /// - Returns: How long until then; `nil` if it was set before, or no connection is idle.
    mutating func setAlarm(after idleTime: Duration) -> Duration? {
      guard !isAlarmSet, let first = idle.first else { return nil }
      isAlarmSet = true
      return first.since + idleTime - .now
    }

    /// Takes what was granted to a caller.
    mutating func grant(to waiter: Waiter) -> Grant? {
      grants.removeValue(forKey: ObjectIdentifier(waiter))
    }

    /// Gives the first callers what there is; returns those to wake.
    mutating func serveWaiters(maximumCount: Int) -> [Waiter] {
      var served: [Waiter] = []
      while let waiter = waiters.first {
        if let idle = idle.popLast() {
          usedCount += 1
          grants[ObjectIdentifier(waiter)] = .connection(idle.connection)
        } else if count < maximumCount, mayOpen {
          openingCount += 1
          grants[ObjectIdentifier(waiter)] = .opening
        } else {
          break
        }
        served.append(waiters.removeFirst())
      }
      if isFirstToCheck, let first = waiters.first { served.append(first) }
      isFirstToCheck = false
      return served
    }

    private var mayOpen: Bool {
      guard pause.isActive else { return true }
      return openingCount == 0 && pause.end.map { $0 <= .now } ?? true
    }
  }
}
