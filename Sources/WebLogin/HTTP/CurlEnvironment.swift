import Foundation
import OAuthLogin

/// The variables of `curl` that libcurl leaves to the program, or does not report.
struct CurlEnvironment {
  private let variables: [String: String]

  init(_ variables: [String: String] = ProcessInfo.processInfo.environment) {
    self.variables = variables
  }

  /// The first of some variables that is set and not empty.
  private func first(_ names: [String]) -> (name: String, value: String)? {
    for name in names {
      if let value = variables[name], !value.isEmpty { return (name, value) }
    }
    return nil
  }

  // MARK: - Certificates

  /// The file of trusted certificates; `nil` for the system's.
  ///
  /// Source: docs/cmdline-opts/cacert.md of curl.
  var certificateFile: String? { first(["CURL_CA_BUNDLE", "SSL_CERT_FILE"])?.value }

  /// A directory of further trusted certificates; `CURL_CA_BUNDLE` overrides it.
  var certificateDirectory: String? {
    first(["CURL_CA_BUNDLE"]) == nil ? first(["SSL_CERT_DIR"])?.value : nil
  }

  /// The variable that names the file, or else the directory; `nil` for the system's.
  var certificateVariable: String? {
    first(["CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"])?.name
  }

  // MARK: - Proxies

  /// A proxy of `https` requests.
  struct Proxy {
    /// Its host and port, without a user and a password, and the variable that names it.
    let description: String
    /// Whether the variable is an address at all.
    let hasHost: Bool
    let port: Int
    /// Whether it answers requests to connect with a status, as no SOCKS proxy does.
    let hasStatus: Bool
  }

  /// Whether requests to some servers go past the proxy; libcurl says to which only since 8.7.
  var hasExceptions: Bool { first(["no_proxy", "NO_PROXY"]) != nil }

  /// The proxy of `https` requests; `nil` if none is named.
  ///
  /// Source: docs/libcurl/libcurl-env.md of curl; lib/url.c has the ports.
  var proxy: Proxy? {
    guard let (name, value) = first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]) else {
      return nil
    }
    let url = URLComponents(string: value.contains("://") ? value : "http://\(value)")
    let scheme = url?.scheme?.lowercased() ?? "http"
    let port = url?.port ?? (scheme == "https" ? 443 : 1080)
    // What stands for the host may be a password: the value may be no address, and a `/` or a `#`
    // in a password ends the address in front of the `@`.
    let isClear = value.count { $0 == "@" } == (url?.user == nil ? 0 : 1) && port <= 65_535
    let host = isClear ? url?.host : nil
    let address = host.map { "\($0):\(port), " } ?? ""
    return Proxy(
      description: "the proxy (\(address)from \(name))", hasHost: host != nil, port: port,
      hasStatus: ["http", "https"].contains(scheme))
  }
}
