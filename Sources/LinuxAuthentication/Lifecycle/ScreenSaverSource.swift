import SessionToolsDBus
public import SessionAuthentication

/// A source that reports when the screen saver covers the desktop, which commonly means a lock.
///
/// Listens to `org.freedesktop.ScreenSaver`, which most desktops have, and to
/// `org.gnome.ScreenSaver`, which GNOME uses. Use it for desktops that ``LogindSource`` does not
/// cover; using both is fine.
public struct ScreenSaverSource: LifecycleSource {
  private typealias Service = (name: String, path: String)

  /// The services, and the objects to ask.
  private static let services: [Service] = [
    (name: "org.freedesktop.ScreenSaver", path: "/org/freedesktop/ScreenSaver"),
    (name: "org.gnome.ScreenSaver", path: "/org/gnome/ScreenSaver"),
  ]

  private let fixedAddress: String?

  /// Makes a source.
  ///
  /// - Parameter busAddress: The message bus of the screen saver; the login session's when `nil`.
  public init(busAddress: String? = nil) {
    fixedAddress = busAddress
  }

  /// Checks that a screen saver is on the bus; asks only the bus, in three steps of at most 25 s.
  ///
  /// - Throws: The errors of ``run(_:)``.
  public func checkAvailability() async throws(AuthenticationError) {
    try await listening.ask { connection throws(DBusError) in
      _ = try await Self.present(connection)
    }
  }

  private var listening: BusListening {
    BusListening(
      address: { [fixedAddress] in fixedAddress ?? BusAddress.session },
      senders: Self.services.map { BusListening.Sender(name: $0.name, interface: $0.name) })
  }

  /// Returns the running services.
  ///
  /// It starts no service: a screen saver that is not running covers nothing.
  private static func present(
    _ connection: DBusConnection
  ) async throws(DBusError) -> [Service] {
    var present: [Service] = []
    for service in services {
      let owner = try await connection.owner(
        of: service.name, until: Deadline(in: BusListening.timeout))
      if owner != nil { present.append(service) }
    }
    guard !present.isEmpty else {
      throw DBusError(.disconnected, "no screen saver is on the bus")
    }
    return present
  }

  /// Listens until its task is cancelled, and then returns.
  ///
  /// Continues when the screen saver or the bus is restarted. If the desktop is covered already,
  /// that is reported at once.
  ///
  /// - Parameter receive: Called with each event, one after the other.
  /// - Throws: `serviceLost` when there is no screen saver at the beginning, `notPermitted`.
  public func run(
    _ receive: @escaping @Sendable (SystemEvent) -> Void
  ) async throws(AuthenticationError) {
    let state = ScreenSaverState(receive)
    try await listening.run { connection throws(DBusError) in
      for service in try await Self.present(connection) {
        await Self.ask(service, state, connection)
      }
    } receive: { signal, sender, connection in
      if signal.name == "ActiveChanged", let isActive = signal.arguments.first?.boolean {
        state.set(isActive, for: sender)
      }
      for service in Self.services {
        switch signal.owner(of: service.name) {
        case .some(.some): await Self.ask(service, state, connection)
        case .some(nil): state.forget(service.name)
        case nil: break
        }
      }
    }
  }

  private static func ask(
    _ service: Service, _ state: ScreenSaverState,
    _ connection: DBusConnection
  ) async {
    let method = DBusMethod(service.name, service.path, service.name, "GetActive")
    // GNOME's proxy for the first name does not answer; it sends no signals either.
    let answer = try? await connection.call(method, timeout: BusListening.timeout)
    if let isActive = answer?.children.first?.boolean { state.set(isActive, for: service.name) }
  }
}

/// The services that report a covered desktop, while one task listens.
private final class ScreenSaverState {
  private let receive: (SystemEvent) -> Void
  private var active: Set<String> = []
  private var isCoverReported = false

  init(_ receive: @escaping (SystemEvent) -> Void) {
    self.receive = receive
  }

  func set(_ isActive: Bool, for service: String) {
    let wasCovered = !active.isEmpty
    if isActive { active.insert(service) } else { active.remove(service) }
    if isActive, !wasCovered {
      isCoverReported = true
      receive(.sessionLocked)
    } else if active.isEmpty, isCoverReported {
      isCoverReported = false
      receive(.sessionUnlocked)
    }
  }

  /// Forgets a service that has ended; the desktop stays as it is, and the next service knows its
  /// state.
  func forget(_ service: String) {
    active.remove(service)
  }
}
