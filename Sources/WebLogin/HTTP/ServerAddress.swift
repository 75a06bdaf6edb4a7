import Foundation

/// The addresses that requests may be sent to.
enum ServerAddress {
  /// Parses an address that secrets are sent to: `https`, or `http` on this machine itself.
  ///
  /// - Throws: `invalidConfiguration`.
  static func parse(_ text: String, called name: String) throws(WebLoginError) -> URL {
    guard let url = URL(string: text), isUsable(url) else {
      throw WebLoginError(
        .invalidConfiguration,
        "the \(name) must be an https address without a user or a fragment",
        remedy: "Plain http is allowed only for 127.0.0.1, [::1] and localhost")
    }
    return url
  }

  /// Returns the name of an address's server in messages: its host, and its port if it has one.
  static func name(of url: URL) -> String {
    let host = url.host(percentEncoded: true) ?? "the authorization server"
    return PlainText.shown(url.port.map { "\(host):\($0)" } ?? host)
  }

  private static func isUsable(_ url: URL) -> Bool {
    guard let host = url.host(), !host.isEmpty, url.user() == nil, url.password() == nil,
      url.fragment() == nil
    else { return false }
    switch url.scheme?.lowercased() {
    case "https": return true
    case "http": return ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host.lowercased())
    default: return false
    }
  }
}
