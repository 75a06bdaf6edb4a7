import Foundation

/// The sandbox that this process runs in.
package enum Sandbox: Hashable, Sendable {
  case flatpak
  case snap

  /// The sandbox; `nil` outside of one.
  ///
  /// Flatpak puts the file there (https://docs.flatpak.org/en/latest/sandbox-permissions.html); snapd
  /// sets the variable (https://snapcraft.io/docs/environment-variables). A program that is started
  /// by an app of a snap, such as a shell in an editor, inherits the variable without the sandbox.
  package static var current: Sandbox? {
    if FileManager.default.fileExists(atPath: "/.flatpak-info") { return .flatpak }
    let snap = ProcessInfo.processInfo.environment["SNAP"] ?? ""
    return snap.isEmpty ? nil : .snap
  }

  /// How an app gets access to the Secret Service.
  package var howToReachKeyring: String {
    switch self {
    case .flatpak: "give the app the permission --talk-name=org.freedesktop.secrets"
    case .snap: "connect the app's interface password-manager-service"
    }
  }
}
