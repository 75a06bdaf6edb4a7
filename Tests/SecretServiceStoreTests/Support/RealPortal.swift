import BusTestSupport
import Foundation
import TestSupport

/// The desktop's own portal, with gnome-keyring as its backend for secrets.
struct RealPortal {
  static let name = "org.freedesktop.portal.Desktop"
  private static let backend = "/usr/share/xdg-desktop-portal/portals/gnome-keyring.portal"

  private let daemon: Daemon

  /// - Parameters:
  ///   - bus: The bus.
  ///   - hasSecrets: Whether the portal finds the backend.
  /// - Throws: An error if the portal does not start.
  init(on bus: PrivateBus, hasSecrets: Bool = true) async throws {
    let backends = bus["portals"]
    try FileManager.default.createDirectory(
      atPath: backends, withIntermediateDirectories: false)
    if hasSecrets {
      try FileManager.default.copyItem(
        atPath: Self.backend, toPath: "\(backends)/gnome-keyring.portal")
    }
    daemon = try await bus.start(
      "/usr/libexec/xdg-desktop-portal", name: Self.name,
      environment: ["XDG_DESKTOP_PORTAL_DIR": backends, "XDG_CURRENT_DESKTOP": "GNOME"])
  }
}
