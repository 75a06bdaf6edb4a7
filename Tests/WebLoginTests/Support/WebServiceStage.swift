import Foundation
import SessionToolsBase
import SessionToolsOAuthTestSupport
import SessionToolsTesting
import SessionToolsTestSupport
import WebLogin

/// A web service, its login server, and a person who allows every login there.
struct WebServiceStage: Sendable {
  static let redirectAddress = "https://app.example/callback"

  let server: AuthlibServer
  let clock = ManualClock(now: Date())
  /// The paths that requests were sent to.
  let sent = Shared<[String]>([])
  let key = SecretBytes([UInt8](repeating: 7, count: 32))

  init() throws {
    server = try AuthlibServer()
  }

  func client(clock: (any SessionClock)? = nil) -> OAuthClient {
    OAuthClient(
      issuer: server.address, clientID: "app",
      http: WatchedHTTP { [sent] request in
        sent.update { $0.append(request.url.path()) }
        return nil
      }, clock: clock ?? self.clock)
  }

  func login(
    clock: (any SessionClock)? = nil, redirectAddress: String = redirectAddress,
    scopes: [String] = ["openid", "mail"], key: SecretBytes? = nil, former: [SecretBytes] = []
  ) throws -> WebServiceLogin {
    try WebServiceLogin(
      client: client(clock: clock), redirectAddress: redirectAddress, scopes: scopes,
      key: key ?? self.key, formerKeys: former)
  }

  /// Lets a person answer at the address of a login.
  ///
  /// - Returns: The query that the browser brings back to the service.
  func answer(
    _ address: URL, as user: String = "ada", _ answer: String = "allow"
  ) async throws -> String {
    let place = try await Program.run(
      "/usr/bin/curl",
      [
        "--silent", "--output", "/dev/null", "--write-out", "%{redirect_url}", "--data",
        "user=\(user)&password=open+sesame&answer=\(answer)", address.absoluteString,
      ], environment: [:])
    return place.split(separator: "?", maxSplits: 1).dropFirst().joined()
  }

  /// How many codes were sent to the server.
  var exchangeCount: Int { sent.now.count { $0 == "/token" } }
}

/// The cookies of a browser for one host, kept as RFC 6265 and its `__Host-` names prescribe.
struct CookieJar {
  private var cookies: [(name: String, value: String)] = []

  /// Sets a cookie as a browser does that was sent it by an address of a scheme.
  mutating func set(_ cookie: LoginCookie, over scheme: String = "https") {
    let parts = cookie.setCookie.split(separator: ";").map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    let pair = parts[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let (name, attributes) = (String(pair[0]), Set(parts.dropFirst()))
    let isSecure = attributes.contains("Secure")
    guard cookie.setCookie.utf8.count <= 4096, scheme == "https" || !isSecure,
      !name.hasPrefix("__Host-")
        || isSecure && attributes.contains("Path=/")
          && !attributes.contains(where: { $0.hasPrefix("Domain") })
    else { return }
    cookies.removeAll { $0.name == name }
    if !attributes.contains("Max-Age=0") { cookies.append((name, String(pair[1]))) }
  }

  var count: Int { cookies.count }
  var names: [String] { cookies.map(\.name) }

  /// The fields `Cookie` of the next request: one, or none.
  var fields: [String] {
    cookies.isEmpty ? [] : [cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")]
  }

  /// Changes the value of each cookie.
  func changed(_ change: (String) -> String) -> [String] {
    cookies.map { "\($0.name)=\(change($0.value))" }
  }
}
