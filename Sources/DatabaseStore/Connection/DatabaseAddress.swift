import Foundation
package import SecretStores

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
  /// The mode for a server on another machine if the address asks for none.
  private let otherMode: String
  /// The file with the authorities that check a certificate, if libpq would find none itself.
  private let authorities: String?
  /// Who may run a server on this machine that shows no certificate.
  let proof: ServerProof

  private static let strictMode = "verify-full"
  private static let minimumAttemptTime = Duration.seconds(2)

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
    // libpq itself knows it for sockets alone.
    proof = try ServerProof(named: given.removeValue(forKey: "requirepeer"))
    if !allowsPlaintext, let mode, mode != Self.strictMode,
      !endpoints.allSatisfy(\.isOnThisMachine)
    {
      throw Self.invalid(
        "the address asks for sslmode=\(mode), with which any server could take this one's place",
        "Write sslmode=verify-full in its place, or allow plaintext if the network is trusted"
      ).with(.unprovenServer)
    }
    // Without this, what is allowed would have to be asked for as well.
    otherMode = allowsPlaintext ? "prefer" : Self.strictMode
    attemptTime = max(
      Self.minimumAttemptTime, .seconds(given["connect_timeout"].flatMap { Int($0) } ?? 0))
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
    authorities =
      given["sslrootcert"] == nil
      ? Self.authoritiesOfTheSystem(ProcessInfo.processInfo.environment) : nil
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
    if let authorities, mode(for: endpoint) == Self.strictMode {
      keywords["sslrootcert"] = authorities
    }
    return keywords
  }

  /// Returns the keywords with which connecting is tried, one after the other, so that no password
  /// is given away in TLS without a checked certificate.
  ///
  /// What a server asks for cannot be looked at there. libpq 16 and later refuses it by itself.
  /// Before that, it does so only where it has to bind the exchange to the TLS, which SCRAM alone
  /// can do.
  func attempts(
    for endpoint: DatabaseEndpoint, at found: String? = nil,
    _ version: Int32 = LibPQ.version
  ) -> [[String: String]] {
    var keywords = keywords(for: endpoint, at: found)
    let mode = mode(for: endpoint)
    guard mode != Self.strictMode, mode != "disable" else { return [keywords] }
    if version >= 160_000 {
      keywords["require_auth"] = keywords["require_auth"] ?? "!password,!md5"
      return [keywords]
    }
    var (encrypted, plain) = (keywords, keywords)
    encrypted["channel_binding"] = "require"
    plain["sslmode"] = "disable"
    guard ["allow", "prefer"].contains(mode) else { return [encrypted] }
    encrypted["sslmode"] = "require"
    // Within a machine, TLS without a certificate protects from no one.
    return endpoint.isOnThisMachine ? [plain, encrypted] : [encrypted, plain]
  }

  /// Whether a server at an endpoint must show a certificate, if it is not at a socket.
  func needsCertificate(_ endpoint: DatabaseEndpoint) -> Bool {
    mode(for: endpoint) == Self.strictMode
  }

  private func mode(for endpoint: DatabaseEndpoint) -> String {
    // libpq ignores it on a socket. It matters if PGHOSTADDR turns the socket into another machine.
    if endpoint.isSocket { return Self.strictMode }
    return mode ?? (endpoint.isOnThisMachine ? "prefer" : otherMode)
  }

  /// Returns the file of the authorities that the system trusts, where libpq has none of its own:
  /// it looks only for `~/.postgresql/root.crt`, and knows `sslrootcert=system` since version 16.
  private static func authoritiesOfTheSystem(_ environment: [String: String]) -> String? {
    // The service may name one.
    guard environment["PGSSLROOTCERT"] == nil, environment["PGSERVICE"] == nil else { return nil }
    // libpq takes the home directory from the environment, and then from the user database.
    let home = environment["HOME"] ?? NSHomeDirectory()
    let fileManager = FileManager.default
    guard !fileManager.fileExists(atPath: "\(home)/.postgresql/root.crt") else { return nil }
    // Debian's, Fedora's and Alpine's.
    return [
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ].first { fileManager.fileExists(atPath: $0) }
  }

  private static func refuse(_ given: [String: String]) throws(StoreError) {
    // Of the user, and of the file with the user's private key.
    if given["password"] != nil || given["sslpassword"] != nil {
      throw invalid(
        "the address of the database contains a password, which is then also in logs and listings",
        "Pass a closure that returns it"
      ).with(.passwordInAddress)
    }
    // Each statement names the store's schema: a search path would choose nothing, in silence.
    if given["options"]?.contains("search_path") == true {
      throw invalid(
        "the address of the database sets search_path, which does not choose the store's schema",
        "Remove it, and name the schema in the options of the store"
      ).with(.schemaName)
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
    // A / in a password ends the host for libpq, and the rest of the password is the name of a
    // database: neither is repeated here.
    guard ports.allSatisfy({ $0.isEmpty || UInt16($0) ?? 0 > 0 }),
      given["dbname"]?.contains("@") != true
    else {
      throw invalid(
        "the address of the database has a port that is not a number, or an @ in the database's "
          + "name",
        "Leave out the password; in a user's name, write %40 for @ and %2F for /")
    }
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
