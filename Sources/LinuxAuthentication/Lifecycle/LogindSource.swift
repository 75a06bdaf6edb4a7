import SessionToolsDBus
import Foundation
public import SessionAuthentication

/// A source of the desktop's locks and the machine's sleep, from systemd-logind.
///
/// Requests to lock (`loginctl lock-session`) count, and so does the state that the desktop reports
/// (`LockedHint`). A lock with both may be reported twice; its end is reported once. If the desktop
/// is locked already, that is reported at once. While another user's session is in front
/// (`Active`), the desktop counts as locked, also if that was so before. A program that belongs to
/// no session, such as a service, receives only sleep events.
///
/// Sleep is delayed until the receiver has returned from `willSleep`, for as long as logind allows:
/// commonly 5 s, `InhibitDelayMaxSec` in logind.conf(5).
public struct LogindSource: LifecycleSource {
  private let program: String
  private let reason: String
  private let countsIdleness: Bool
  private let fixedAddress: String?

  /// Makes a source.
  ///
  /// - Parameters:
  ///   - program: The name of the program, for `systemd-inhibit --list`; the name of the process
  ///     when `nil`.
  ///   - reason: The reason for delaying sleep, for the same list.
  ///   - countsIdleness: Whether a long time without input, by the desktop's measure (`IdleHint`),
  ///     counts as a lock.
  ///   - busAddress: The message bus with logind; when `nil`, the system's, which
  ///     `DBUS_SYSTEM_BUS_ADDRESS` can set.
  public init(
    program: String? = nil, reason: String = "Locking before sleep",
    countsIdleness: Bool = false, busAddress: String? = nil
  ) {
    self.program = program ?? ProcessInfo.processInfo.processName
    self.reason = reason
    self.countsIdleness = countsIdleness
    fixedAddress = busAddress
  }

  /// Checks that logind can be used.
  ///
  /// Takes as long as logind's answers, at most 25 s for each of up to five calls.
  ///
  /// - Returns: Whether the program belongs to a session, so that it receives locks and not only
  ///   sleep.
  /// - Throws: The errors of ``run(_:)``; `serviceLost` also when there is no answer.
  public func checkAvailability() async throws(AuthenticationError) -> Bool {
    try await listening.ask { connection throws(DBusError) in
      try await Self.logind(connection).ownSession() != nil
    }
  }

  private var listening: BusListening {
    BusListening(
      address: { [fixedAddress] in fixedAddress ?? BusAddress.system },
      senders: [
        LogindManager.Interface.manager, .session, .properties,
      ].map { BusListening.Sender(name: LogindManager.service, interface: $0.rawValue) })
  }

  /// Starts logind, if it is not running and the bus can start it.
  private static func logind(
    _ connection: DBusConnection
  ) async throws(DBusError) -> LogindManager {
    _ = try await connection.provider(
      of: LogindManager.service, until: Deadline(in: BusListening.timeout))
    return LogindManager(connection: connection)
  }

  /// Listens until its task is cancelled, and then returns.
  ///
  /// Continues when logind or the bus is restarted.
  ///
  /// - Parameter receive: Called with each event, one after the other.
  /// - Throws: `serviceLost` when there is no logind at the beginning, `notPermitted`.
  public func run(
    _ receive: @escaping @Sendable (SystemEvent) -> Void
  ) async throws(AuthenticationError) {
    let state = LogindState(
      program: program, reason: reason, countsIdleness: countsIdleness, receive: receive)
    try await listening.run { connection throws(DBusError) in
      try await state.meet(Self.logind(connection))
    } receive: { signal, sender, connection in
      await state.take(signal, from: sender, LogindManager(connection: connection))
    }
  }
}

/// The known state of the session and of sleep, while one task listens.
private final class LogindState {
  private let program: String
  private let reason: String
  private let countsIdleness: Bool
  private let receive: (SystemEvent) -> Void
  private var session: String?
  private var lock = DesktopLock()
  private var isAsleep = false
  /// Sleep is delayed as long as this exists.
  private var delay: BusDescriptor?

  init(
    program: String, reason: String, countsIdleness: Bool,
    receive: @escaping (SystemEvent) -> Void
  ) {
    self.program = program
    self.reason = reason
    self.countsIdleness = countsIdleness
    self.receive = receive
  }

  /// Reads the state from a logind that is new to this process.
  func meet(_ logind: LogindManager) async throws(DBusError) {
    // A process stays in its session, even when logind restarts.
    if session == nil { session = try await logind.ownSession() }
    // A restarted logind does not know the earlier delay.
    delay = await logind.delaySleep(program: program, reason: reason)
    if let session {
      if let isLocked = await logind.isLocked(session) { report(lock.state(isLocked: isLocked)) }
      if let isActive = await logind.isActive(session) { report(lock.state(.otherUser, !isActive)) }
      if countsIdleness, let isIdle = await logind.isIdle(session) {
        report(lock.state(.idle, isIdle))
      }
    }
    if let isAsleep = await logind.isPreparingForSleep() { await sleep(isAsleep, logind) }
  }

  func take(_ signal: DBusSignal, from sender: String, _ logind: LogindManager) async {
    if sender == DBusConnection.busName {
      // When logind ends, wait for the next one. Its later signals replace any answers missing
      // here.
      if case .some(.some) = signal.owner(of: LogindManager.service) { try? await meet(logind) }
      return
    }
    switch signal.name {
    case "Lock" where signal.path == session: report(lock.request(isLock: true))
    case "Unlock" where signal.path == session: report(lock.request(isLock: false))
    case "PropertiesChanged" where signal.path == session && signal.arguments.count > 1:
      let changed = signal.arguments[1].entries
      if let isLocked = changed["LockedHint"]?.boolean { report(lock.state(isLocked: isLocked)) }
      if let isActive = changed["Active"]?.boolean { report(lock.state(.otherUser, !isActive)) }
      if countsIdleness, let isIdle = changed["IdleHint"]?.boolean {
        report(lock.state(.idle, isIdle))
      }
    case "PrepareForSleep":
      if let isAsleep = signal.arguments.first?.boolean { await sleep(isAsleep, logind) }
    default: break
    }
  }

  private func sleep(_ isAsleep: Bool, _ logind: LogindManager) async {
    guard self.isAsleep != isAsleep else { return }
    self.isAsleep = isAsleep
    receive(isAsleep ? .willSleep : .didWake)
    // Released only after the receiver: the machine sleeps as soon as no program delays it.
    delay = isAsleep ? nil : await logind.delaySleep(program: program, reason: reason)
  }

  private func report(_ event: SystemEvent?) {
    if let event { receive(event) }
  }
}
