/// A request to the desktop's portal, which every sandboxed program may reach, and its response.
///
/// The method of the portal answers with the path of a request; the response is a signal of that
/// object, because a person may be asked before. It is sent to the connection that made the request
/// (https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Request.html).
package struct PortalRequest: Sendable {
  /// What became of a request, by the number in the signal.
  package enum Response: Hashable, Sendable {
    case done
    /// The person dismissed a question.
    case dismissed
    case failed

    init(_ number: UInt32) {
      switch number {
      case 0: self = .done
      case 1: self = .dismissed
      default: self = .failed
      }
    }
  }

  private enum Event {
    case response(request: String, UInt32)
    case ended(DBusError)
  }

  package static let name = "org.freedesktop.portal.Desktop"
  package static let path = "/org/freedesktop/portal/desktop"

  private let interface: String
  private let method: String
  private let arguments: [Variant]
  private let descriptors: [BusDescriptor]

  /// - Parameters:
  ///   - interface: The last part of the interface's name, such as `Secret`.
  ///   - method: The method.
  ///   - arguments: The arguments before the options, which are left empty.
  ///   - descriptors: The descriptors that the arguments refer to.
  package init(
    _ interface: String, _ method: String, _ arguments: [Variant],
    sending descriptors: [BusDescriptor] = []
  ) {
    self.interface = "org.freedesktop.portal.\(interface)"
    self.method = method
    self.arguments = arguments + [.properties([:])]
    self.descriptors = descriptors
  }

  /// Makes the request over a connection, and waits for its response.
  ///
  /// If this throws, release the connection: the portal then closes the request.
  ///
  /// - Parameters:
  ///   - connection: The connection.
  ///   - timeout: How long to wait for the portal.
  ///   - responseTimeout: How long to wait for the response after that; `nil` for as long as a
  ///     person needs.
  /// - Returns: What became of the request.
  /// - Throws: As `DBusConnection.call`; `disconnected` also when the portal ends.
  package func response(
    over connection: DBusConnection, timeout: Duration, responseTimeout: Duration?
  ) async throws(DBusError) -> Response {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    // Subscribed before the call, because the response could come before its answer, and to every
    // request, because old portals choose the path themselves.
    let responses = await connection.subscribe(
      to: "org.freedesktop.portal.Request", from: Self.name
    ) { signal in
      guard signal.name == "Response", let number = signal.arguments.first?.unsigned32 else {
        return
      }
      continuation.yield(.response(request: signal.path, number))
    }
    let owners = await connection.subscribe(
      to: DBusConnection.busName, from: DBusConnection.busName
    ) { signal in
      guard case .some(.none) = signal.owner(of: Self.name) else { return }
      continuation.yield(.ended(DBusError(.disconnected, "the portal ended")))
    }
    let closing = connection.onClose {
      continuation.yield(.ended(DBusError(.disconnected, "the connection was closed")))
    }
    defer { withExtendedLifetime((responses, owners, closing)) {} }
    let answer = try await connection.callWithDescriptors(
      DBusMethod(Self.name, Self.path, interface, method), arguments, sending: descriptors,
      timeout: timeout)
    guard let request = answer.values.first?.objectPath else { throw .unexpected(method) }
    let timer = responseTimeout.map { timeout in
      MainLoop.shared.perform(after: timeout) {
        continuation.yield(.ended(DBusError(.timedOut, "the portal did not respond in time")))
      }
    }
    defer { withExtendedLifetime(timer) {} }
    for await event in events {
      switch event {
      case .response(request, let number): return Response(number)
      case .response: continue
      case .ended(let error): throw error
      }
    }
    throw DBusError(.cancelled, "the task was cancelled")
  }
}
