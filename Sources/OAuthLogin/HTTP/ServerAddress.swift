package import Foundation

/// The addresses that requests may be sent to.
package enum ServerAddress {
  /// Parses an address that secrets are sent to: `https`, or `http` on this machine itself.
  ///
  /// - Parameters:
  ///   - text: The address; blanks around it are ignored.
  ///   - name: What it is called in messages.
  ///   - isForPerson: Whether only a person opens it, so that it may have a fragment.
  /// - Returns: The address.
  /// - Throws: `invalidConfiguration`.
  package static func parse(
    _ text: String, called name: String, isForPerson: Bool = false
  ) throws(WebLoginError) -> URL {
    let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard let url = URL(string: text), isUsable(url), isForPerson || url.fragment() == nil else {
      throw WebLoginError(
        .invalidConfiguration,
        "the \(name) must be an https address without a user"
          + (isForPerson ? "" : " or a fragment"),
        remedy: "Plain http is allowed only for 127.0.0.1, [::1] and localhost")
    }
    return url
  }

  /// Returns the name of an address's server in messages: its host, and its port if it has one.
  package static func name(of url: URL) -> String {
    let host = url.host(percentEncoded: true) ?? "the authorization server"
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    return PlainText.shown(url.port.map { "\(name):\($0)" } ?? name)
  }

  private static func isUsable(_ url: URL) -> Bool {
    guard let host = url.host(), !host.isEmpty, url.user() == nil, url.password() == nil,
      url.port.map((1...65_535).contains) ?? true
    else { return false }
    switch url.scheme?.lowercased() {
    case "https": return true
    case "http": return ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host.lowercased())
    default: return false
    }
  }
}
