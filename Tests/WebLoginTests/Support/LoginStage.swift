import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsBase
import Synchronization
import WebLogin

/// A server, a browser, and a program that logs in there.
struct LoginStage: Sendable {
  let server: AuthlibServer
  let chromium: Chromium
  let store = MemoryStore()
  let client: OAuthClient

  init(
    clock: any SessionClock = SystemSessionClock(), http: any OAuthHTTPClient = CurlHTTPClient()
  )
    throws
  {
    server = try AuthlibServer()
    chromium = try Chromium.shared()
    client = OAuthClient(issuer: server.address, clientID: "app", http: http, clock: clock)
  }

  /// Returns a login in which the person performs an act as soon as the page is there.
  func login(_ act: Chromium.Act) -> WebAuthenticationSession {
    var login = WebAuthenticationSession(client: client, scopes: ["mail"], pending: pending)
    login.browser = DesktopOpener(environment: chromium.environment(act))
    return login
  }

  var container: StoreContainer<PendingLogin> {
    StoreContainer(store, namespace: Self.namespace)
  }

  var pending: PendingLogin.Storage { PendingLogin.Storage(container) }

  /// Returns whether a login is stored that has not ended.
  func hasPending() throws -> Bool { try container.containsItem(forIdentifier: "pending-login") }

  private static let namespace: StoreNamespace = {
    do { return try StoreNamespace(service: "test") } catch { preconditionFailure("\(error)") }
  }()
}

/// Records the addresses to open, and opens them in a browser if there is one.
final class WatchedBrowser: LoginBrowser {
  private let browser: (any LoginBrowser)?
  private let addresses: AsyncStream<URL>
  private let arrivals: AsyncStream<URL>.Continuation

  init(_ browser: (any LoginBrowser)? = nil) {
    self.browser = browser
    (addresses, arrivals) = AsyncStream.makeStream(of: URL.self)
  }

  func open(_ address: URL) async throws(WebLoginError) {
    arrivals.yield(address)
    try await browser?.open(address)
  }

  /// Waits for an address to open.
  func address() async throws -> LoginAddress {
    for await address in addresses { return try LoginAddress(address) }
    throw CancellationError()
  }
}

/// The parameters in the address of a login.
struct LoginAddress: Sendable {
  struct Missing: Error {
    let field: String
  }

  let fields: [String: String]
  let redirect: URL

  init(_ address: URL) throws {
    fields = Form.decode(address.query(percentEncoded: true) ?? "")
    guard let redirect = fields["redirect_uri"].flatMap(URL.init(string:)) else {
      throw Missing(field: "redirect_uri")
    }
    self.redirect = redirect
  }

  var port: UInt16 { redirect.port.map(UInt16.init) ?? 0 }
  var state: String { fields["state"] ?? "" }
}

/// Passes requests to a closure, and sends those on that the closure does not answer.
struct WatchedHTTP: OAuthHTTPClient {
  let watch: @Sendable (OAuthHTTPRequest) async throws -> OAuthHTTPResponse?

  func send(_ request: OAuthHTTPRequest) async throws -> OAuthHTTPResponse {
    if let response = try await watch(request) { return response }
    return try await CurlHTTPClient().send(request)
  }
}

/// Answers without a server.
struct ScriptedHTTP: OAuthHTTPClient {
  let answer: @Sendable (OAuthHTTPRequest) async throws -> OAuthHTTPResponse

  func send(_ request: OAuthHTTPRequest) async throws -> OAuthHTTPResponse {
    try await answer(request)
  }
}

extension OAuthHTTPResponse {
  init(_ status: Int = 200, _ body: String = "", _ headers: [String: String] = [:]) {
    self.init(status: status, headers: headers, body: Data(body.utf8))
  }
}

extension OAuthHTTPRequest {
  /// The fields that are posted.
  var fields: [String: String] {
    Form.decode(String(decoding: body ?? Data(), as: UTF8.self))
  }
}

/// A value that a test shares with what it starts.
final class Shared<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) { self.value = Mutex(value) }

  func update<Result>(_ body: (inout sending Value) -> sending Result) -> Result {
    value.withLock { body(&$0) }
  }

  var now: Value { value.withLock { $0 } }
}

/// Returns whether any process listens on a port of 127.0.0.1.
func isListenedOn(_ port: UInt16) throws -> Bool {
  let table = try String(contentsOfFile: "/proc/self/net/tcp", encoding: .utf8)
  let digits = String(port, radix: 16, uppercase: true)
  let padded = String(repeating: "0", count: 4 - digits.count) + digits
  return table.split(separator: "\n").contains {
    $0.contains(" 0100007F:\(padded) 00000000:0000 0A ")
  }
}

/// Returns the number of this process's descriptors that are listening sockets.
func listeningPortCount() throws -> Int {
  var inodes: Set<String> = []
  for table in ["tcp", "tcp6"] {
    let text = try String(contentsOfFile: "/proc/self/net/\(table)", encoding: .utf8)
    for line in text.split(separator: "\n").dropFirst() {
      let fields = line.split(separator: " ")
      // 0A is LISTEN.
      if fields[3] == "0A" { inodes.insert("socket:[\(fields[9])]") }
    }
  }
  let directory = "/proc/self/fd"
  return try FileManager.default.contentsOfDirectory(atPath: directory).count { name in
    // A descriptor that was closed meanwhile does not count.
    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)")
    return target.map(inodes.contains) ?? false
  }
}
