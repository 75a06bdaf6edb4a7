public import Foundation

/// An opener of the person's browser.
public protocol LoginBrowser: Sendable {
  /// Opens an address, and returns when the browser has accepted it, or later.
  ///
  /// The task is cancelled when the login has ended; whatever is open may stay open. The address
  /// contains the values that identify the login, so keep it out of logs and messages.
  ///
  /// - Throws: `noBrowser` when no browser accepts the address.
  func open(_ address: URL) async throws(WebLoginError)
}

/// The person's default browser: opened by the desktop's portal in a sandbox, and elsewhere by
/// `xdg-open`, which respects `$BROWSER`.
///
/// While a program is being started, every user of the machine can read its arguments (unless
/// `/proc` is mounted with `hidepid`), and `xdg-open`, like browsers, takes the address as an
/// argument. The address contains no code, token or verifier; see <doc:WebLogin>.
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

extension WebLoginError {
  static func noBrowser(_ reason: String) -> WebLoginError {
    WebLoginError(
      .noBrowser, reason,
      remedy: "Set BROWSER, install a browser, or log in with a device code")
  }
}
