package import SecretStores

extension DatabaseFailure {
  /// Returns the error that a caller of a store receives when a statement is not sent again.
  ///
  /// - Parameters:
  ///   - effect: What the statement does: a change without an answer may have been made.
  ///   - store: The store as a person would name it.
  /// - Returns: The error, which quotes nothing that a server said about its data.
  package func storeError(_ effect: DatabaseStatement.Effect, store: String) -> StoreError {
    switch self {
    case .notSent(let obstacle): obstacle.storeError(store)
    case .timedOut: Self.timedOut(store)
    case .server(let state) where state == .completionUnknown && effect == .write:
      Self.outcomeUnknown(store, state)
    case .server(let state): state.storeError(store)
    case .noAnswer(let silence): silence.storeError(effect, store)
    }
  }

  fileprivate static func timedOut(_ store: String) -> StoreError {
    StoreError(.timedOut, store: store, reason: "the database did not answer in time")
  }

  fileprivate static func outcomeUnknown(_ store: String, _ state: SQLState?) -> StoreError {
    StoreError(
      .outcomeUnknown, store: store,
      reason: "the database did not report whether it made the change",
      remedy: "Read the item again", underlying: state)
  }
}

extension DatabaseFailure.Silence {
  fileprivate func storeError(
    _ effect: DatabaseStatement.Effect, _ store: String
  ) -> StoreError {
    switch self {
    case .ended(let state):
      effect == .write ? DatabaseFailure.outcomeUnknown(store, state) : state.storeError(store)
    case .warning(let state) where effect == .write: DatabaseFailure.outcomeUnknown(store, state)
    case _ where effect == .write: DatabaseFailure.outcomeUnknown(store, nil)
    case .excess:
      StoreError(
        .io, store: store, reason: "the server sent more than the answer can have",
        remedy: "Find out what answers in place of the database")
    case .brokenConnection:
      StoreError(
        .unavailable, store: store, reason: "the connection to the database was lost",
        remedy: "Try again", isTransient: true)
    case .deadline, .warning: DatabaseFailure.timedOut(store)
    }
  }
}

extension DatabaseFailure.Obstacle {
  fileprivate func storeError(_ store: String) -> StoreError {
    switch self {
    case .noConnection(let reason):
      StoreError(
        .unavailable, store: store, reason: "there is no connection to the database: \(reason)",
        remedy: "Check that the server runs and can be reached from this machine",
        isTransient: true)
    case .notTrusted(let reason):
      StoreError(
        .accessDenied, store: store,
        reason: "the server did not prove by TLS that it is the database: \(reason)",
        remedy: "Check the server's certificate, and name its authority with sslrootcert=FILE in "
          + "the address; for a server on this machine, write 127.0.0.1 in place of its name")
    case .wrongPeer(let server, let user):
      StoreError(
        .accessDenied, store: store,
        reason: "the server at \(server) is a process of the user \(user), who may not run it",
        remedy: "If \(user) is to run it, or what forwards to it, add requirepeer=\(user) to the "
          + "address; otherwise find out who took the server's place")
    case .unknownPeer(let server):
      StoreError(
        .accessDenied, store: store,
        reason: "the system does not say which user runs the server at \(server)",
        remedy: "Give the server a certificate, and add sslmode=verify-full to the address, with a "
          + "host of which the certificate has the name")
    case .exposedPassword(let reason):
      StoreError(
        .accessDenied, store: store,
        reason: "the server asks for the password in a form that gives it away: \(reason)",
        remedy: "Set password_encryption to scram-sha-256, set the password again, and write "
          + "scram-sha-256 in pg_hba.conf; or connect with sslmode=verify-full")
    case .brokeOff(let reason):
      StoreError(
        .unavailable, store: store,
        reason: "the server closed the connection while it checked the password: \(reason)",
        remedy: "Look into the server's log, and then try again")
    case .refused(let state): state.storeError(store)
    case .otherServer(let reason):
      StoreError(
        .unavailable, store: store, reason: reason, remedy: "Use PostgreSQL 13 or later")
    case .noPassword(let error): error
    case .forkedChild:
      StoreError(
        .unavailable, store: store,
        reason: "the store was opened by the parent of this forked process",
        remedy: "Open the store again in the child")
    }
  }
}

extension SQLState {
  /// Returns the error for a code, which never quotes the server.
  fileprivate func storeError(_ store: String) -> StoreError {
    let (code, reason, remedy) = meaning
    return StoreError(
      code, store: store, reason: "\(reason) (\(self))", remedy: remedy, underlying: self,
      isTransient: code == .timedOut || passes)
  }

  /// Whether the server may accept the same statement later: it is a standby, has no memory or
  /// connection left, was lost, or is starting or stopping.
  private var passes: Bool {
    // Not a protocol violation, for which poolers say that there is no such database.
    ["25006", "53000", "53200", "53300", "57P01", "57P02", "57P03"].contains(code)
      || isIn("08") && code != "08P01"
  }

  private var meaning: (StoreError.Code, reason: String, remedy: String?) {
    switch code {
    case _ where Set.repeatable.contains(self):
      (.timedOut, "other users of the database were in the way until the deadline", nil)
    case "3D000", "3F000", "42P01":
      (
        .unavailable, "the database has no store there",
        "Check the names of the database and of the schema"
      )
    case "25006":
      (.unavailable, "the server accepts no changes now", "Name all servers in the address")
    case "53300":
      (
        .unavailable, "the server has no connection left",
        "Raise max_connections, or put a pooler in front"
      )
    case "42501":
      (.accessDenied, "the database refused access", "Grant the role what the store needs")
    case "53100", "53400": (.noSpace, "the server has no space left", nil)
    case "54000": (.valueTooLarge, "the server refused the change as too large", nil)
    case "XX001", "XX002":
      (.corrupt, "the server found its own data damaged", "Restore the database")
    case _ where isIn("28"):
      (
        .accessDenied, "the server refused the user or the password",
        "Check both, and the server's pg_hba.conf"
      )
    case _ where isIn("08") || isIn("57P"):
      (.unavailable, "the server ended or refused the connection", "Try again")
    default: (.io, "the database reported an error", nil)
    }
  }
}
