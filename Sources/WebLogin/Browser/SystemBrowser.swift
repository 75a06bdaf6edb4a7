public import Foundation
public import OAuthLogin

/// The person's default browser: opened by the desktop's portal in a sandbox, and elsewhere by
/// `xdg-open`, which respects `$BROWSER`.
///
/// While a program is being started, every user of the machine can read its arguments (unless
/// `/proc` is mounted with `hidepid`), and `xdg-open`, like browsers, takes the address as an
/// argument. The address contains no code, token or verifier; see the article of `OAuthLogin`.
public struct SystemBrowser: LoginBrowser {
  /// Makes an opener; opens nothing.
  public init() {}

  /// Opens an address.
  ///
  /// - Throws: `noBrowser`.
  public func open(_ address: URL) async throws(WebLoginError) {
    if Self.isInSandbox {
      try await PortalOpener().open(address)
    } else {
      try await DesktopOpener().open(address)
    }
  }

  /// Whether the program runs in a Flatpak or a Snap, where it cannot see other programs.
  private static var isInSandbox: Bool {
    FileManager.default.fileExists(atPath: "/.flatpak-info")
      || ProcessInfo.processInfo.environment["SNAP_NAME"] != nil
  }
}

extension WebAuthenticationSession {
  /// Describes a login in the person's default browser; opens nothing.
  public init(client: OAuthClient, scopes: [String] = [], pending: PendingLogin.Storage? = nil) {
    self.init(client: client, scopes: scopes, pending: pending, browser: SystemBrowser())
  }
}
