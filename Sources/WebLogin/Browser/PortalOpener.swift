import DBus
package import Foundation
import Synchronization

/// An opener that uses the portal that sandboxes have: `org.freedesktop.portal.OpenURI`.
package struct PortalOpener: LoginBrowser {
  private let bus: String?

  private static let name = "org.freedesktop.portal.Desktop"
  private static let timeout = Duration.seconds(25)

  /// Makes an opener; opens nothing.
  ///
  /// - Parameter bus: The address of the bus; `nil` when there is no bus.
  package init(bus: String? = BusAddress.session) {
    self.bus = bus
  }

  /// Asks the portal, and waits until the person has chosen a browser, if the portal asks.
  ///
  /// - Throws: `noBrowser` when there is no portal, or it refuses.
  package func open(_ address: URL) async throws(WebLoginError) {
    guard let bus else {
      throw .noBrowser("there is no session bus to ask the portal for a browser")
    }
    do throws(DBusError) {
      let connection = try await DBusConnection.open(address: bus, timeout: Self.timeout)
      try await open(address, byWayOf: connection)
    } catch {
      // A cancelled login needs no error: it has ended.
      if error.kind == .cancelled { return }
      throw .noBrowser("the desktop's portal opened no browser")
    }
  }

  private func open(
    _ address: URL, byWayOf connection: DBusConnection
  ) async throws(DBusError) {
    let (responses, continuation) = AsyncStream.makeStream(of: (String, UInt32?).self)
    // Subscribe before the call, because the response could come before its reply.
    let subscription = await connection.subscribe(
      to: "org.freedesktop.portal.Request", from: Self.name
    ) { signal in
      guard signal.name == "Response" else { return }
      continuation.yield((signal.path, signal.arguments.first?.unsigned32))
    }
    let closing = connection.onClose { continuation.finish() }
    defer { withExtendedLifetime((subscription, closing)) {} }
    let answer = try await connection.call(
      DBusMethod(
        Self.name, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI", "OpenURI"),
      [.string(""), .string(address.absoluteString), .properties([:])], timeout: Self.timeout)
    guard let request = answer.children.first?.objectPath else {
      throw DBusError.unexpected("OpenURI")
    }
    for await (path, response) in responses where path == request {
      if response == 0 { return }
      throw DBusError(.remote(DBusError.unexpectedName), "the portal did not open the address")
    }
    if Task.isCancelled { throw DBusError(.cancelled, "the login has ended") }
    throw DBusError(.disconnected, "the connection to the portal was closed")
  }
}
