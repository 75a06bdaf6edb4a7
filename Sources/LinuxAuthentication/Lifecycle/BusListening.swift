import DBus
import SessionAuthentication

/// Listening to a service for as long as a task lasts, also when the bus is started anew.
struct BusListening: Sendable {
  /// How long a bus that is not there is left alone.
  private static let pause = Duration.seconds(2)
  /// How long a service may take to answer.
  static let timeout = Duration.seconds(25)

  /// What comes over a connection.
  enum Event: Sendable {
    case signal(DBusSignal, from: String)
    case closed
  }

  /// Whom to listen to: the interface, and the name of who has it.
  struct Sender: Sendable {
    let name: String
    let interface: String
  }

  /// Where the bus is; `nil` when there is none.
  let address: @Sendable () -> String?
  let senders: [Sender]

  /// Listens until the task is cancelled.
  ///
  /// - Parameters:
  ///   - begin: Called with each new connection, when it is listened to already.
  ///   - receive: Called with each signal, and with what became of the senders.
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
      // Cut short when the task is cancelled.
      try? await Task.sleep(for: Self.pause)
    }
  }

  /// Asks something over a connection of its own, without listening.
  ///
  /// - Throws: As ``run(begin:receive:)``.
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
    // What this asks comes after the request for the signals, so nothing is missed in between.
    try await begin(connection)
    for await event in events {
      guard case .signal(let signal, let sender) = event else { return }
      await receive(signal, sender, connection)
    }
  }

  private static func error(_ error: DBusError) -> AuthenticationError {
    if error.name == "org.freedesktop.DBus.Error.AccessDenied" {
      return AuthenticationError(
        AuthenticationError.notPermitted, "the service refused: \(error.message)",
        underlying: error)
    }
    return AuthenticationError(
      AuthenticationError.serviceLost, "there is no service to listen to: \(error.message)",
      underlying: error)
  }
}
