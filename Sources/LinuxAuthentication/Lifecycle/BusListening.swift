import SessionToolsDBus
import SessionAuthentication

/// A listener to services for as long as a task lasts, also across restarts of the bus.
struct BusListening: Sendable {
  /// The pause before the next attempt to connect.
  private static let pause = Duration.seconds(2)
  /// How long a service may take to answer.
  static let timeout = Duration.seconds(25)

  /// An event of a connection.
  enum Event: Sendable {
    case signal(DBusSignal, from: String)
    case closed
  }

  /// A sender to listen to: its name on the bus, and the interface.
  struct Sender: Sendable {
    let name: String
    let interface: String
  }

  /// Returns the address of the bus; `nil` when there is no bus.
  let address: @Sendable () -> String?
  let senders: [Sender]

  /// Listens until the task is cancelled.
  ///
  /// - Parameters:
  ///   - begin: Called with each new connection, after the subscriptions were made.
  ///   - receive: Called with each signal of the senders, and of the bus about their names.
  /// - Throws: `serviceLost` or `notPermitted` when it cannot begin the first time.
  func run(
    begin: (DBusConnection) async throws(DBusError) -> Void,
    receive: (DBusSignal, _ sender: String, DBusConnection) async -> Void
  ) async throws(AuthenticationError) {
    var hasBegun = false
    while !Task.isCancelled {
      do throws(DBusError) {
        try await listen(
          begin: { connection throws(DBusError) in
            try await begin(connection)
            hasBegun = true
          }, receive: receive)
      } catch {
        if error.kind == .cancelled { return }
        guard hasBegun else { throw Self.error(error) }
      }
      // Ends early when the task is cancelled.
      try? await Task.sleep(for: Self.pause)
    }
  }

  /// Calls services over a separate connection, without listening.
  ///
  /// - Throws: The errors of ``run(begin:receive:)``.
  func ask<Answer>(
    _ body: (DBusConnection) async throws(DBusError) -> Answer
  ) async throws(AuthenticationError) -> Answer {
    do throws(DBusError) {
      let connection = try await connection()
      defer { connection.close() }
      return try await body(connection)
    } catch {
      throw Self.error(error)
    }
  }

  private func connection() async throws(DBusError) -> DBusConnection {
    guard let address = address() else {
      throw DBusError(.disconnected, "the environment names no bus")
    }
    return try await DBusConnection.open(address: address, timeout: Self.timeout)
  }

  /// Listens over one connection until that breaks, or the task is cancelled.
  private func listen(
    begin: (DBusConnection) async throws(DBusError) -> Void,
    receive: (DBusSignal, _ sender: String, DBusConnection) async -> Void
  ) async throws(DBusError) {
    let connection = try await connection()
    defer { connection.close() }
    let (events, receiver) = AsyncStream.makeStream(of: Event.self)
    let closing = connection.onClose { receiver.yield(.closed) }
    var subscriptions: [DBusSubscription] = []
    let bus = Sender(name: DBusConnection.busName, interface: DBusConnection.busName)
    for sender in senders + [bus] {
      subscriptions.append(
        await connection.subscribe(to: sender.interface, from: sender.name) {
          receiver.yield(.signal($0, from: sender.name))
        })
    }
    defer { withExtendedLifetime((closing, subscriptions)) {} }
    // The signals were requested before, so nothing is missed in between.
    try await begin(connection)
    for await event in events {
      guard case .signal(let signal, let sender) = event else { return }
      await receive(signal, sender, connection)
    }
  }

  private static func error(_ error: DBusError) -> AuthenticationError {
    if error.name == "org.freedesktop.DBus.Error.AccessDenied" {
      return AuthenticationError(
        .notPermitted, "the service refused: \(error.message)",
        underlying: error)
    }
    return AuthenticationError(
      .serviceLost, "there is no service to listen to: \(error.message)",
      underlying: error)
  }
}
