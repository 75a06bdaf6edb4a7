package import SessionToolsBase

/// Where a database is and how to connect to it: a connection string as `psql` takes it, with
/// what this library adds and refuses.
///
/// libpq fills in what is not given from variables such as `PGHOSTADDR` and `PGSSLMODE`. All that
/// decides where secrets are sent is therefore given.
package struct DatabaseAddress: Sendable {
  /// The places where the server may be, in the order in which they are tried.
  package let endpoints: [DatabaseEndpoint]
  /// How long one endpoint may take while there are others to try.
  let attemptTime: Duration
  /// What libpq receives for every endpoint.
  private let settings: [String: String]
  /// The mode of TLS that the address asks for.
  private let mode: String?

  private static let strictMode = "verify-full"
  private static let shortestAttemptTime = Duration.seconds(2)

  /// Parses an address.
  ///
  /// - Parameters:
  ///   - text: A URI, or keywords and values. It names a host, and no password.
  ///   - allowsPlaintext: Whether the address may ask for less than a checked certificate for a
  ///     server on another machine.
  /// - Throws: `invalidKey`.
  package init(_ text: String, allowsPlaintext: Bool = false) throws(StoreError) {
    guard var given = LibPQ.parse(connectionString: text) else {
      // libpq's own text may quote a password.
      throw Self.invalid(
        "the address of the database cannot be parsed",
        "Write it as for psql: postgresql://user@host/database")
    }
    try Self.refuse(given)
    endpoints = try Self.endpoints(in: &given)
    mode = given.removeValue(forKey: "sslmode")
    if !allowsPlaintext, let mode, mode != Self.strictMode,
      !endpoints.allSatisfy(\.isOnThisMachine)
    {
      throw Self.invalid(
        "the address asks for sslmode=\(mode), with which any server could take this one's place",
        "Remove sslmode, or allow plaintext if the network is trusted")
    }
    attemptTime = max(
      Self.shortestAttemptTime, .seconds(given["connect_timeout"].flatMap { Int($0) } ?? 0))
    let fixed = [
      // The kernel notices a dead machine by it; only deadlines notice a server that stands still.
      "tcp_user_timeout": "3000",
      "target_session_attrs": "read-write",
      // It would try Kerberos first, which costs a round trip, and lookups without a deadline.
      "gssencmode": "disable",
      "client_encoding": "UTF8",
      "fallback_application_name": "session-tools",
    ]
    settings = given.merging(fixed) { $1 }
  }

  /// The name of the database; `nil` when libpq takes it from the environment.
  var databaseName: String? { settings["dbname"] ?? settings["user"] }

  /// Whether something is sent to another machine without TLS, or to a server that is not checked.
  package var isExposed: Bool {
    endpoints.contains { !$0.isOnThisMachine && mode(for: $0) != Self.strictMode }
  }

  /// Returns libpq's keywords and values for one endpoint, but the password.
  ///
  /// - Parameters:
  ///   - endpoint: One of the endpoints.
  ///   - found: Its numeric address, if it was looked up. It decides nothing about TLS, because
  ///     other machines answer lookups.
  /// - Returns: The keywords with their values.
  package func keywords(
    for endpoint: DatabaseEndpoint, at found: String? = nil
  ) -> [String: String] {
    var keywords = settings
    keywords["host"] = endpoint.host
    keywords["hostaddr"] = found ?? endpoint.address
    keywords["port"] = endpoint.port
    keywords["sslmode"] = mode(for: endpoint)
    return keywords
  }

  private func mode(for endpoint: DatabaseEndpoint) -> String {
    // libpq ignores it on a socket. It matters if PGHOSTADDR turns the socket into another machine.
    if endpoint.isSocket { return Self.strictMode }
    return mode ?? (endpoint.isOnThisMachine ? "prefer" : Self.strictMode)
  }

  private static func refuse(_ given: [String: String]) throws(StoreError) {
    if given["password"] != nil {
      throw invalid(
        "the address of the database contains a password, which is then also in logs and listings",
        "Pass a closure that returns it")
    }
    for keyword in ["service", "replication"] where given[keyword] != nil {
      throw invalid("the address of the database has the keyword '\(keyword)'", "Remove it")
    }
    guard ["read-write", nil].contains(given["target_session_attrs"]) else {
      throw invalid(
        "the address of the database asks for a server that may not accept changes",
        "Remove target_session_attrs")
    }
  }

  /// Takes the hosts, their addresses and ports, which are lists of the same length.
  private static func endpoints(
    in given: inout [String: String]
  ) throws(StoreError) -> [DatabaseEndpoint] {
    func list(_ keyword: String) -> [String] {
      given.removeValue(forKey: keyword)?.split(
        separator: ",", omittingEmptySubsequences: false
      ).map(String.init) ?? []
    }
    let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    let count = max(hosts.count, addresses.count)
    guard [0, count].contains(hosts.count), [0, count].contains(addresses.count),
      ports.count <= 1 || ports.count == count
    else {
      throw invalid(
        "the address of the database has lists of hosts and ports that differ in length", nil)
    }
    var endpoints: [DatabaseEndpoint] = []
    for number in 0..<count {
      let address = addresses.isEmpty || addresses[number].isEmpty ? nil : addresses[number]
      let host = hosts.isEmpty || hosts[number].isEmpty ? address : hosts[number]
      let port = ports.isEmpty ? "" : ports[ports.count == 1 ? 0 : number]
      guard let host else { throw withoutHost }
      endpoints.append(
        DatabaseEndpoint(host: host, address: address, port: port.isEmpty ? "5432" : port))
    }
    guard !endpoints.isEmpty else { throw withoutHost }
    return endpoints
  }

  private static var withoutHost: StoreError {
    invalid(
      "the address of the database names no host",
      "Name it, or the directory of its socket: postgresql:///app?host=/var/run/postgresql")
  }

  private static func invalid(_ reason: String, _ remedy: String?) -> StoreError {
    StoreError(.invalidKey, store: "database", reason: reason, remedy: remedy)
  }
}
