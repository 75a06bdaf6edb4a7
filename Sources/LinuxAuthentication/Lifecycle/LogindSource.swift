import DBus
import Foundation
public import SessionAuthentication

/// Tells when the desktop is locked and when the machine sleeps, by systemd-logind.
///
/// Requests to lock (`loginctl lock-session`) count as well as what the desktop says of itself
/// (`LockedHint`); a lock of which both say so may be told twice, and its end is told once. When the
/// desktop is locked already, that is told at once. A program that belongs to no session, such as a
/// service, is told of sleep only.
///
/// Sleep is delayed until the receiver has returned from `willSleep`, for as long as logind allows:
/// commonly 5 s, `InhibitDelayMaxSec` in logind.conf(5).
public struct LogindSource: LifecycleSource {
  private let program: String
  private let reason: String
  private let fixedAddress: String?

  /// Listens to logind.
  ///
  /// - Parameters:
  ///   - program: The name of the program, for `systemd-inhibit --list`; that of the process when
  ///     `nil`.
  ///   - reason: Why sleep is delayed, for the same.
  ///   - busAddress: The message bus on which logind is; the system's when `nil`, which is what
  ///     `DBUS_SYSTEM_BUS_ADDRESS` says.
  public init(
    program: String? = nil, reason: String = "Locking before sleep", busAddress: String? = nil
  ) {
    self.program = program ?? ProcessInfo.processInfo.processName
    self.reason = reason
    fixedAddress = busAddress
  }

  /// Makes sure that there is something to listen to.
  ///
  /// Takes as long as logind does to answer, at most 25 s for each of up to five questions.
  ///
  /// - Returns: Whether the program belongs to a session, so that it is told of locks as well as of
  ///   sleep.
  /// - Throws: As ``run(_:)``; `serviceLost` also when there is no answer.
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

  /// Starts it, if it does not run and the bus knows how.
  private static func logind(
    _ connection: DBusConnection
  ) async throws(DBusError) -> LogindManager {
    _ = try await connection.provider(
      of: LogindManager.service, until: Deadline(in: BusListening.timeout))
    return LogindManager(connection: connection)
  }

  /// Listens until its task is cancelled, and returns then.
  ///
  /// Goes on when logind, or the bus, is started anew.
  ///
  /// - Parameter receive: Called with each event, one after the other.
  /// - Throws: `serviceLost` when there is no logind at the beginning, `notPermitted`.
  public func run(
    _ receive: @escaping @Sendable (SystemEvent) -> Void
  ) async throws(AuthenticationError) {
    let state = LogindState(program: program, reason: reason, receive: receive)
    try await listening.run { connection throws(DBusError) in
      try await state.meet(Self.logind(connection))
    } receive: { signal, sender, connection in
      await state.take(signal, from: sender, LogindManager(connection: connection))
    }
  }
}

/// What is known of the session and of sleep, while one task listens.
private final class LogindState {
  private let program: String
  private let reason: String
  private let receive: (SystemEvent) -> Void
  private var session: String?
  private var lock = DesktopLock()
  private var isAsleep = false
  /// Sleep waits as long as this lives.
  private var delay: ReceivedDescriptor?

  init(program: String, reason: String, receive: @escaping (SystemEvent) -> Void) {
    self.program = program
    self.reason = reason
    self.receive = receive
  }

  /// Finds out how things are with a logind that was not known before.
  func meet(_ logind: LogindManager) async throws(DBusError) {
    // A process stays in its session, which outlives logind.
    if session == nil { session = try await logind.ownSession() }
    // One that was started anew knows of no delay.
    delay = await logind.delaySleep(program: program, reason: reason)
    if let session, let isLocked = await logind.isLocked(session) {
      tell(lock.state(isLocked: isLocked))
    }
    if let isAsleep = await logind.isPreparingForSleep() { await sleep(isAsleep, logind) }
  }

  func take(_ signal: DBusSignal, from sender: String, _ logind: LogindManager) async {
    if sender == DBusConnection.busName {
      // One that ends is waited for. What a new one does not answer, its next signals may.
      if case .some(.some) = signal.owner(of: LogindManager.service) { try? await meet(logind) }
      return
    }
    switch signal.name {
    case "Lock" where signal.path == session: tell(lock.request(isLock: true))
    case "Unlock" where signal.path == session: tell(lock.request(isLock: false))
    case "PropertiesChanged" where signal.path == session && signal.arguments.count > 1:
      if let isLocked = signal.arguments[1].entries["LockedHint"]?.boolean {
        tell(lock.state(isLocked: isLocked))
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
    // Only now: the machine sleeps as soon as nobody delays it any more.
    delay = isAsleep ? nil : await logind.delaySleep(program: program, reason: reason)
  }

  private func tell(_ event: SystemEvent?) {
    if let event { receive(event) }
  }
}
