import SessionToolsDBus
package import Foundation
package import OAuthLogin

/// An opener that uses the portal that sandboxes have: `org.freedesktop.portal.OpenURI`.
package struct PortalOpener: LoginBrowser {
  private let bus: String?

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
      let request = PortalRequest(
        "OpenURI", "OpenURI", [.string(""), .string(address.absoluteString)])
      let response = try await request.response(
        over: connection, timeout: Self.timeout, responseTimeout: nil)
      if response == .done { return }
    } catch {
      // A cancelled login needs no error: it has ended.
      if error.kind == .cancelled { return }
    }
    throw .noBrowser("the desktop's portal opened no browser")
  }
}
