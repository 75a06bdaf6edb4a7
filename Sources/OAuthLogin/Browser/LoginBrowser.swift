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

extension WebLoginError {
  package static func noBrowser(_ reason: String) -> WebLoginError {
    WebLoginError(
      .noBrowser, reason,
      remedy: "Set BROWSER, install a browser, or log in with a device code")
  }
}
