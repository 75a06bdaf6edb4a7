import Glibc
import SecretStores

/// One connection to a database, each of whose operations ends by its deadline.
///
/// At the deadline the socket is closed. Nothing is ever cancelled: a server that waits for its
/// standby answers a cancelled change with success.
///
/// It is used by one thread at a time, to which the pool hands it over under its lock: this makes
/// the unchecked conformance true.
package final class DatabaseConnection: @unchecked Sendable {
  private var mode: DatabaseStatement.Mode
  /// Where the server is.
  package let endpoint: DatabaseEndpoint
  /// `nil` once the connection is closed.
  private(set) var link: LibPQConnection?
  private let process = CurrentProcess.identifier
  /// The types with which each prepared statement was prepared.
  private var prepared: [String: [StatementParameters.Kind]] = [:]
  /// Notices that were sent without a statement, or with one that changes nothing.
  package private(set) var notices: [ServerNotice] = []
  private var wasNotified = false
  private var wasFoundAlive = false
  /// Whether the server has said that it closes the connection.
  private var isEnding = false
  /// How many bytes the last answer took.
  private var answeredByteCount = 0
  /// How many bytes the server has sent besides answers.
  private var otherByteCount = 0
  private static let maximumOtherByteCount = 16 << 20

  /// What the server said about itself.
  package internal(set) var server = ServerState()
  /// Whether ``Database/note(_:)`` has not yet looked at ``server``.
  var isNew = true

  init(
    _ link: LibPQConnection, to endpoint: DatabaseEndpoint, _ mode: DatabaseStatement.Mode
  ) {
    self.link = link
    self.endpoint = endpoint
    self.mode = mode
  }

  /// Whether the connection can be used again.
  package var isUsable: Bool { link != nil }

  /// Whether all statements go to the same server process, as far as the program has said.
  var keepsSession: Bool { mode == .named }

  package var usesTLS: Bool { link?.usesTLS ?? false }

  /// The number of the server's process for this connection; `nil` when it is closed.
  package var serverProcess: Int32? { link?.serverProcess }

  var isInForkedChild: Bool { CurrentProcess.identifier != process }

  /// Closes the connection without a farewell, and without sending what has not been sent.
  package func close() {
    guard !isInForkedChild else { return }
    link?.abandon()
    link = nil
  }

  /// Begins an operation for which the server may send a number of bytes, unless it has sent so
  /// much besides answers that the connection is replaced.
  ///
  /// libpq keeps the settings that a server reports for as long as there is a connection.
  private func begin(allowing byteCount: Int) {
    guard let link, !isInForkedChild else { return }
    otherByteCount += max(0, link.receivedByteCount - answeredByteCount)
    answeredByteCount = 0
    link.begin(allowing: byteCount)
    if otherByteCount > Self.maximumOtherByteCount { close() }
  }

  // MARK: - Statements

  /// Sends a statement, and waits for its answer.
  ///
  /// A failure other than `server` closes the connection.
  ///
  /// - Throws: For a change, `noAnswer` unless the server has confirmed that it is committed, or
  ///   certainly cannot do it any more.
  package func run(
    _ statement: DatabaseStatement, _ parameters: StatementParameters = StatementParameters(),
    as effect: DatabaseStatement.Effect, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseAnswer {
    do throws(DatabaseFailure) {
      begin(allowing: statement.maximumByteCount)
      let link = try openLink()
      if mode == .named, let name = statement.name {
        do throws(DatabaseFailure) {
          try prepare(name, statement.text, parameters.kinds, link, until: deadline)
          guard link.execute(name, parameters) else { throw Self.lost }
          return try flushedAnswer(link, effect, until: deadline)
        } catch .server(let state) where Set.ofOtherConnection.contains(state) {
          // A pooler passes statements to several connections, and the server did nothing. It may
          // show only now, when a token is spent that this change would store.
          mode = .unnamed
        }
      }
      guard link.execute(text: statement.text, parameters) else { throw Self.lost }
      return try flushedAnswer(link, effect, until: deadline)
    } catch {
      if case .server = error {} else { close() }
      throw error
    }
  }

  private func flushedAnswer(
    _ link: LibPQConnection, _ effect: DatabaseStatement.Effect,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseAnswer {
    try flush(link, until: deadline)
    let found = try answer(link, effect, until: deadline)
    answeredByteCount = found.memoryByteCount
    return found
  }

  /// Sends several statements, which begin and end a transaction and return no rows, and waits
  /// until it is over.
  ///
  /// A failure closes the connection, and with it a transaction that an error has left open.
  ///
  /// - Throws: `server` when the transaction was not committed, `noAnswer` when this is unknown.
  func run(script: String, until deadline: ContinuousClock.Instant) throws(DatabaseFailure) {
    do throws(DatabaseFailure) {
      begin(allowing: DatabaseStatement.otherByteCount)
      let link = try openLink()
      guard link.execute(script: script) else { throw Self.lost }
      try flush(link, until: deadline)
      while let answer = try nextAnswer(link, until: deadline) {
        switch answer.outcome {
        case .done: break
        case .failed(let state): throw .server(state)
        case .ended(let state): throw .noAnswer(.ended(state))
        case .broken: throw .noAnswer(.brokenConnection)
        }
      }
      guard link.isOpen, link.isIdle else { throw .noAnswer(.brokenConnection) }
    } catch {
      close()
      throw error
    }
  }

  /// Returns whether the server has not closed the connection, as far as that has arrived.
  ///
  /// The statement that is sent next does not look again.
  func isAlive() -> Bool {
    begin(allowing: DatabaseStatement.otherByteCount)
    wasFoundAlive = (try? openLink()) != nil
    return wasFoundAlive
  }

  /// Returns libpq's connection, if the server has not closed it meanwhile.
  private func openLink() throws(DatabaseFailure) -> LibPQConnection {
    guard !isInForkedChild else { throw .notSent(.forkedChild) }
    guard let link else { throw Self.lost }
    defer { wasFoundAlive = false }
    // A server that was stopped has said so: what is sent now would be without an answer.
    if !wasFoundAlive, link.hasInput {
      guard link.receiveArrived(), !link.isEnding else { throw Self.lost }
      collect(link)
    }
    guard link.isOpen, !isEnding else { throw Self.lost }
    return link
  }

  /// Prepares a statement, if this connection has not done it before.
  private func prepare(
    _ name: String, _ text: String, _ kinds: [StatementParameters.Kind], _ link: LibPQConnection,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) {
    if let known = prepared[name] {
      precondition(known == kinds, "a statement's parameters are always of the same types")
      return
    }
    guard link.prepare(name, text, kinds) else { throw Self.lost }
    do throws(DatabaseFailure) {
      try flush(link, until: deadline)
      _ = try answer(link, .read, until: deadline)
    } catch .noAnswer(.deadline) {
      throw .timedOut
    } catch .noAnswer(.excess) {
      throw .notSent(.otherServer(Self.excessive))
    } catch .noAnswer {
      throw Self.lost
    }
    prepared[name] = kinds
  }

  /// Sends what libpq has not sent.
  ///
  /// The server commits nothing before it has received the end of the message, which is sent last.
  private func flush(
    _ link: LibPQConnection, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) {
    while true {
      switch link.flush() {
      case .done: return
      case .failed: throw .noAnswer(.brokenConnection)
      case .needsInput, .needsOutput: break
      }
      // A server that waits until its answer is taken takes nothing itself.
      switch link.wait(Int32(POLLIN) | Int32(POLLOUT), until: deadline) {
      case .ready, .woken: break
      case .deadline: throw .timedOut
      case .excess, .refused: throw .noAnswer(.excess)
      }
      guard link.receive() else { throw .noAnswer(.brokenConnection) }
    }
  }

  /// Waits until the server is done with a statement.
  ///
  /// The rows of a change arrive before it is committed: only what follows them says that it was.
  private func answer(
    _ link: LibPQConnection, _ effect: DatabaseStatement.Effect,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseAnswer {
    var found: DatabaseAnswer?
    var error: DatabaseFailure?
    while let answer = try nextAnswer(link, until: deadline) {
      switch answer.outcome {
      case .done: found = answer
      case .failed(let state):
        error = state == .completionUnknown ? .noAnswer(.ended(state)) : .server(state)
      case .ended(let state): throw .noAnswer(.ended(state))
      case .broken: throw .noAnswer(.brokenConnection)
      }
    }
    guard link.isOpen, link.isIdle else { throw .noAnswer(.brokenConnection) }
    let warning = collect(link)
    if let error { throw error }
    if let warning, effect == .write { throw .noAnswer(.warning(warning.state)) }
    guard let found else { throw .noAnswer(.brokenConnection) }
    return found
  }

  private func nextAnswer(
    _ link: LibPQConnection, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseAnswer? {
    while link.awaitsAnswer {
      switch link.wait(Int32(POLLIN), until: deadline) {
      case .ready, .woken: break
      case .deadline: throw .noAnswer(.deadline)
      case .excess, .refused: throw .noAnswer(.excess)
      }
      // Of a broken connection, libpq still returns what arrived before.
      guard link.receive() || link.isOpen else { break }
      // libpq keeps all that it is not asked for.
      wasNotified = link.takeNotifications() || wasNotified
    }
    return link.nextAnswer()
  }

  static let excessive = "the server sends more than PostgreSQL does"

  private static let lost = DatabaseFailure.notSent(
    .noConnection("the server closed the connection"))

  // MARK: - Notices

  /// Takes the notices and notifications that have arrived; returns a warning among them.
  @discardableResult
  private func collect(_ link: LibPQConnection) -> ServerNotice? {
    wasNotified = link.takeNotifications() || wasNotified
    let arrived = link.takeNotices()
    guard !arrived.isEmpty else { return nil }
    isEnding = isEnding || arrived.contains(where: \.isFarewell)
    // Only the last ones matter, for diagnosis.
    notices = (notices + arrived).suffix(16)
    return arrived.first(where: \.isWarning)
  }

  /// Asks the server to pass on the notifications of a channel.
  package func listen(
    to channel: String, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) {
    let quoted = try self.quoted(channel)
    _ = try run(DatabaseStatement(name: nil, text: "LISTEN \(quoted)"), as: .read, until: deadline)
  }

  /// Waits for a notification.
  ///
  /// - Parameters:
  ///   - waker: A descriptor that ends the wait when it can be read.
  ///   - deadline: When the wait ends at the latest.
  /// - Returns: Whether there was a notification since the last call. Several count as one.
  /// - Throws: `notSent` when the connection is closed; nothing was lost before that.
  package func waitForNotification(
    or waker: Int32 = -1, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> Bool {
    begin(allowing: DatabaseStatement.otherByteCount)
    while true {
      do throws(DatabaseFailure) {
        let link = try openLink()
        if wasNotified {
          wasNotified = false
          return true
        }
        switch link.wait(Int32(POLLIN), or: waker, until: deadline) {
        case .ready: break
        case .woken, .deadline: return false
        case .excess, .refused: throw DatabaseFailure.notSent(.otherServer(Self.excessive))
        }
      } catch {
        close()
        throw error
      }
    }
  }

  /// Returns a name in quotes, as a part of a statement.
  package func quoted(_ identifier: String) throws(DatabaseFailure) -> String {
    guard let link, let quoted = link.quoted(identifier) else { throw Self.lost }
    return quoted
  }
}
