public import Foundation

/// Opens the person's browser.
public protocol Browser: Sendable {
  /// Opens an address, and returns when the browser has taken it over, or later.
  ///
  /// The task is cancelled when the login has ended; what is open may stay so. The address holds what
  /// the login is recognized by: it belongs neither in a log nor in a message.
  ///
  /// - Throws: `noBrowser` when there is none that takes it.
  func open(_ address: URL) async throws(WebLoginError)
}

/// The browser that the person has chosen: by the desktop's portal in a sandbox, by `xdg-open`
/// elsewhere, which respects `$BROWSER`.
///
/// While a program is being started, its arguments can be read by every user of the machine (unless
/// `/proc` is mounted with `hidepid`), and `xdg-open`, like browsers, takes the address as one. There is
/// no code, no token and no verifier in it; see <doc:WebLogin>.
public struct SystemBrowser: Browser {
  /// Makes one; opens nothing.
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

  /// Whether the program runs in a Flatpak or a Snap, where it sees no other programs.
  private static var isInSandbox: Bool {
    FileManager.default.fileExists(atPath: "/.flatpak-info")
      || ProcessInfo.processInfo.environment["SNAP_NAME"] != nil
  }
}

extension WebLoginError {
  static func noBrowser(_ reason: String) -> WebLoginError {
    WebLoginError(
      Self.noBrowser, reason,
      remedy: "Set BROWSER, install a browser, or log in with a device code")
  }
}
