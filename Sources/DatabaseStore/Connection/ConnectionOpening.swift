import Glibc
package import SessionToolsBase
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
        if case .notSent(.refused(let state)) = error, state.isIn("28") { throw error }
      }
    }
    throw Self.mostTelling(failures)
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
        failures.append(error)
      }
    }
    throw Self.mostTelling(failures)
  }

  /// Returns the first failure that says more than that a server did not answer; else the last.
  private static func mostTelling(_ failures: [DatabaseFailure]) -> DatabaseFailure {
    let telling = failures.first { failure in
      switch failure {
      case .timedOut, .notSent(.noConnection): false
      default: true
      }
    }
    return telling ?? failures.last ?? .timedOut
  }

  private func connect(
    to endpoint: DatabaseEndpoint, at found: String? = nil, _ password: ByteBuffer?,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseConnection {
    let keywords = address.keywords(for: endpoint, at: found)
    guard let link = LibPQConnection(keywords, password: password) else {
      throw .notSent(.noConnection("there is no memory for it"))
    }
    let connection = DatabaseConnection(link, to: endpoint, mode)
    do throws(DatabaseFailure) {
      try establish(link, until: deadline)
      try connection.checkServer(until: deadline)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  /// Connects, agrees on TLS and logs in.
  private func establish(
    _ link: LibPQConnection, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) {
    // libpq wants its socket to be ready for writing before it is asked for the first time.
    var progress = link.isFailed ? LibPQConnection.Progress.failed : .needsOutput
    var (wasInTLS, hadEnded) = (false, false)
    while true {
      switch progress {
      case .done: return
      case .failed:
        if link.lacksPassword { throw .notSent(.refused(.wrongPassword)) }
        throw Self.failure(link.message, isAboutTLS: wasInTLS && !hadEnded)
      case .needsInput, .needsOutput:
        let events = progress == .needsInput ? Int32(POLLIN) : Int32(POLLOUT)
        let outcome = SocketWait.wait(for: link.descriptor, events, until: deadline)
        guard outcome == .ready else { throw .timedOut }
      }
      // libpq has no code for a wrong certificate. The start of TLS fails because of one when the
      // server has not closed the connection.
      (wasInTLS, hadEnded) = (link.isStartingTLS, SocketWait.hasEnded(link.descriptor))
      progress = link.proceed()
    }
  }

  /// Returns the failure that libpq describes; a server's error ends in its code.
  private static func failure(_ message: String, isAboutTLS: Bool) -> DatabaseFailure {
    if let code = message.firstMatch(of: /: {2}([0-9A-Z]{5})$/),
      let state = SQLState(received: code.1)
    {
      return .notSent(.refused(state))
    }
    return .notSent(isAboutTLS ? .notTrusted(message) : .noConnection(message))
  }
}
