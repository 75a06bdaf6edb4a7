import Foundation

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

  /// The variables above that are set, for messages.
  var certificateVariables: [String] {
    first(["CURL_CA_BUNDLE"]).map { [$0.name] }
      ?? ["SSL_CERT_FILE", "SSL_CERT_DIR"].filter { first([$0]) != nil }
  }

  // MARK: - Proxies

  /// A proxy of `https` requests.
  struct Proxy {
    /// Its host and port, without a user and a password, and the variable that names it.
    let description: String
    let port: Int
  }

  /// The proxy of `https` requests, unless `NO_PROXY` has the server; `nil` if none is named.
  ///
  /// Source: docs/libcurl/libcurl-env.md of curl; lib/url.c has the ports.
  var proxy: Proxy? {
    guard let (name, value) = first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]) else {
      return nil
    }
    let url = URLComponents(string: value.contains("://") ? value : "http://\(value)")
    let standard = url?.scheme?.lowercased() == "https" ? 443 : 1080
    // A value that is not an address may be a password.
    let address = url?.host.map { "\($0):\(url?.port ?? standard), " } ?? ""
    return Proxy(description: "the proxy (\(address)from \(name))", port: url?.port ?? standard)
  }
}
