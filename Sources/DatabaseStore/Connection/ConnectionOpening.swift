import Glibc
package import SecretStores
import Synchronization

/// How connections to a database are opened.
package final class ConnectionOpening: Sendable {
  /// Returns the password, or `nil` when none is needed; called for each connection.
  package typealias Password = @Sendable () throws(StoreError) -> SecretBytes?

  let address: DatabaseAddress
  private let password: Password
  private let mode: DatabaseStatement.Mode
  private let order = Mutex(Order())

  /// What decides in which order the endpoints are tried.
  private struct Order {
    /// The endpoint of the last connection, which is tried first: after a failover, each connection
    /// would otherwise wait for the servers that are gone.
    var last: DatabaseEndpoint?
    /// The endpoint that did not answer, which is tried last.
    var silent: DatabaseEndpoint?
  }

  /// Notes how to connect; connects to nothing.
  package init(
    _ address: DatabaseAddress, statements mode: DatabaseStatement.Mode,
    password: @escaping Password = { () throws(StoreError) in nil }
  ) {
    self.address = address
    self.password = password
    self.mode = mode
  }

  /// Connects to the first endpoint that accepts changes.
  ///
  /// - Throws: `notSent` or `timedOut`.
  package func open(
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseConnection {
    let password = try terminatedPassword()
    let order = order.withLock { $0 }
    let endpoints = endpoints(in: order)
    var failures: [DatabaseFailure] = []
    for (number, endpoint) in endpoints.enumerated() {
      do throws(DatabaseFailure) {
        // One that was silent does not get all of the time: another may be promoted meanwhile.
        let isLast = number == endpoints.count - 1 && (number == 0 || endpoint != order.silent)
        let connection = try open(endpoint, isLast, password, until: deadline)
        self.order.withLock { order in
          order.last = endpoint
          if order.silent == endpoint { order.silent = nil }
        }
        return connection
      } catch {
        failures.append(error)
        // A wrong password is sent to no other server: each attempt may count towards a lock.
        switch error {
        case .notSent(.refused(let state)) where state.isIn("28"): throw error
        case .notSent(.brokeOff): throw error
        default: break
        }
      }
    }
    throw Self.mostInformative(failures)
  }

  private func endpoints(in order: Order) -> [DatabaseEndpoint] {
    let answering = address.endpoints.filter { $0 != order.silent }
    return answering.filter { $0 == order.last } + answering.filter { $0 != order.last }
      + address.endpoints.filter { $0 == order.silent }
  }

  /// Notes that an endpoint did not answer in time.
  func avoid(_ endpoint: DatabaseEndpoint) {
    order.withLock { $0.silent = endpoint }
  }

  /// Asks for the password.
  private func terminatedPassword() throws(DatabaseFailure) -> ByteBuffer? {
    do throws(StoreError) {
      guard let password = try password() else { return nil }
      let byteCount = password.byteCount
      let buffer = ByteBuffer(byteCount: byteCount + 1, isSecret: true)
      buffer.copy(password, to: 0)
      for offset in 0..<byteCount where buffer.load(UInt8.self, at: offset) == 0 {
        throw StoreError(
          .invalidKey, store: "database", reason: "the password contains a zero byte")
      }
      return buffer
    } catch {
      throw .notSent(.noPassword(error))
    }
  }

  /// Connects to one endpoint, at each of its addresses in turn.
  private func open(
    _ endpoint: DatabaseEndpoint, _ isLast: Bool, _ password: ByteBuffer?,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseConnection {
    let limit = isLast ? deadline : min(deadline, .now + address.attemptTime)
    guard endpoint.needsLookup else {
      return try connect(to: endpoint, password, until: limit)
    }
    let addresses = try HostLookup.addresses(of: endpoint.host, until: limit)
    var failures: [DatabaseFailure] = []
    for (number, found) in addresses.enumerated() {
      let isLast = isLast && number == addresses.count - 1
      let limit = isLast ? deadline : min(deadline, .now + address.attemptTime)
      do throws(DatabaseFailure) {
        return try connect(to: endpoint, at: found, password, until: limit)
      } catch {
        if case .notSent(.brokeOff) = error { throw error }
        failures.append(error)
      }
    }
    throw Self.mostInformative(failures)
  }

  /// Returns the first failure that says more than that a server did not answer; else the last.
  private static func mostInformative(_ failures: [DatabaseFailure]) -> DatabaseFailure {
    let informative = failures.first { failure in
      switch failure {
      case .timedOut, .notSent(.noConnection): false
      default: true
      }
    }
    return informative ?? failures.last ?? .timedOut
  }

  private func connect(
    to endpoint: DatabaseEndpoint, at found: String? = nil, _ password: ByteBuffer?,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseConnection {
    var attempts = address.attempts(for: endpoint, at: found)[...]
    var refusal: DatabaseFailure?
    while true {
      let keywords = attempts.removeFirst()
      guard let link = LibPQConnection(keywords, password: password) else {
        throw .notSent(.noConnection("there is no memory for it"))
      }
      do throws(DatabaseFailure) {
        return try connect(by: link, to: endpoint, until: deadline)
      } catch {
        let isWithoutTLS = link.wire?.isWithoutTLS ?? false
        guard !attempts.isEmpty, isWithoutTLS || error.isAboutWay else {
          // The server refused the first one, and says more than that it has no TLS.
          throw error.isWithoutTrust ? refusal ?? error : error
        }
        if error.isAboutWay { refusal = error }
      }
    }
  }

  private func connect(
    by link: LibPQConnection, to endpoint: DatabaseEndpoint,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseConnection {
    let connection = DatabaseConnection(link, to: endpoint, mode)
    do throws(DatabaseFailure) {
      try establish(link, to: endpoint, until: deadline)
      try connection.checkServer(until: deadline)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  /// Connects, agrees on TLS, finds out who the server is, and logs in.
  private func establish(
    _ link: LibPQConnection, to endpoint: DatabaseEndpoint,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) {
    // libpq wants its socket to be ready for writing before it is asked for the first time.
    var progress = link.isFailed ? LibPQConnection.Progress.failed : .needsOutput
    var last = Step()
    var proved: ServerWire?
    while true {
      switch progress {
      case .done: return
      case .failed: throw failure(of: link, last)
      case .needsInput, .needsOutput:
        let outcome = try link.waitToProceed(progress, until: deadline)
        // Before libpq answers anything that the server has sent. Until then, the kernel may not
        // know the process that takes the connection.
        if let wire = link.wire, proved !== wire, wire.hasReceived {
          try prove(wire, endpoint)
          proved = wire
        }
        switch outcome {
        case .ready: break
        case .woken, .deadline: throw .timedOut
        case .excess:
          throw .notSent(.otherServer(DatabaseConnection.excessive))
        case .refused: throw link.wire?.refused.failure ?? .timedOut
        }
      }
      last = Step(
        isStartingTLS: link.isStartingTLS, isLoggingIn: link.isLoggingIn, hadEnded: link.isEnding)
      progress = link.proceed()
    }
  }

  /// What a connection was about when libpq went on with it.
  private struct Step {
    var isStartingTLS = false
    var isLoggingIn = false
    var hadEnded = false
  }

  private func prove(
    _ wire: ServerWire, _ endpoint: DatabaseEndpoint
  ) throws(DatabaseFailure) {
    switch wire.location {
    case .localSocket: try address.proof.check(wire, endpoint)
    case .loopback:
      if !address.needsCertificate(endpoint) { try address.proof.check(wire, endpoint) }
    case .elsewhere: break
    }
  }

  /// Returns the failure that libpq describes; a server's error ends in its code, behind which
  /// libpq says which file had a wrong password.
  private func failure(of link: LibPQConnection, _ last: Step) -> DatabaseFailure {
    if link.lacksPassword { return .notSent(.refused(.wrongPassword)) }
    let message = link.message
    let code = /: {2}([0-9A-Z]{5})(?:[;\s]+password retrieved from file .*)?$/
    if let code = message.firstMatch(of: code),
      let state = SQLState(received: code.1)
    {
      return .notSent(.refused(state))
    }
    if last.isLoggingIn, link.usesPassword { return .notSent(.brokeOff(message)) }
    // libpq has no code for a wrong certificate, nor for what it does not answer. Connecting fails
    // because of one of them when the server has not closed the connection.
    if last.hadEnded { return .notSent(.noConnection(message)) }
    if last.isStartingTLS { return .notSent(.notTrusted(message)) }
    return .notSent(
      last.isLoggingIn && link.usesTLS ? .exposedPassword(message) : .noConnection(message))
  }
}

extension AuthenticationRequests.Refused? {
  fileprivate var failure: DatabaseFailure {
    switch self {
    case .clearText: .notSent(.exposedPassword("in clear text"))
    case .md5: .notSent(.exposedPassword("as an MD5 hash"))
    case .malformed, nil: .notSent(.otherServer("the server does not speak PostgreSQL's protocol"))
    }
  }
}

extension DatabaseFailure {
  /// Whether the server has no TLS, or not the right certificate.
  fileprivate var isWithoutTrust: Bool {
    if case .notSent(.notTrusted) = self { true } else { false }
  }

  /// Whether the server may refuse a client because of how it connects, with TLS or without.
  fileprivate var isAboutWay: Bool {
    if case .notSent(.refused(let state)) = self { state.code == "28000" } else { false }
  }
}
