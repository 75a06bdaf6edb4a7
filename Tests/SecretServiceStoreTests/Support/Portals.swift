import SessionToolsBusTestSupport
import SessionToolsDBus
import Foundation
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport

/// A portal for secrets that fails in the ways that tests ask for;
/// `Tests/Services/SecretPortal` lists them.
final class MockPortal: Sendable {
  private static let path = "/org/freedesktop/portal/desktop"
  private static let script = "\(SourceDirectory.path)/Tests/Services/SecretPortal/portal.py"

  /// The secret of a portal without a fault.
  static let secret = SecretBytes(Array(0..<64))

  private let daemon: Daemon
  private let connection: DBusConnection
  private let address: String

  init(on bus: PrivateBus, fault: String = "") async throws {
    daemon = try await bus.start("/usr/bin/python3", [Self.script], name: RealPortal.name)
    connection = try await bus.connect()
    address = bus.address
    try await set(fault)
  }

  func set(_ fault: String) async throws { _ = try await call("Set", [.string(fault)]) }

  /// Returns how often the portal was asked for a secret.
  func count() async throws -> UInt32? { try await call("Count").first?.unsigned32 }

  private func call(_ name: String, _ arguments: [Variant] = []) async throws -> [Variant] {
    try await connection.call(
      DBusMethod(RealPortal.name, Self.path, "org.sessiontools.Faults", name), arguments,
      timeout: patience
    ).children
  }

  /// Returns what an app gets from the portal.
  func secret(waiting timeout: Duration = patience) async throws -> SecretBytes {
    try await PortalSecret(bus: SessionBus(address: address), timeout: timeout).retrieve()
  }
}

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
