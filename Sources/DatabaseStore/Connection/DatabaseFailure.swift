package import SecretStores

/// Why a statement has no answer, by what the server may have done.
package enum DatabaseFailure: Error {
  /// The statement was not sent.
  case notSent(Obstacle)
  /// The deadline passed before the statement was sent.
  case timedOut
  /// The statement was sent, or may have been: the server may have done what it says, or may still
  /// do it.
  case noAnswer(Silence)
  /// The server answered that it did nothing.
  case server(SQLState)

  /// Why there is no connection.
  package enum Obstacle {
    /// No server could be reached.
    case noConnection(String)
    /// The server did not show that it is the right one, or offered no TLS.
    case notTrusted(String)
    /// The process that serves a connection within this machine belongs to a user who may not be
    /// the server.
    case wrongPeer(String, user: String)
    /// The kernel does not say who serves a connection within this machine.
    case unknownPeer(String)
    /// The server asked for the password in a form that gives it away.
    case exposedPassword(String)
    /// The server closed the connection when it should have checked the password.
    case brokeOff(String)
    /// The server refused the connection.
    case refused(SQLState)
    /// What answered is not a PostgreSQL that has what this library needs.
    case otherServer(String)
    /// The program did not give the password.
    case noPassword(StoreError)
    /// The connections belong to the parent of this forked process.
    case forkedChild
  }

  /// Why no answer counts.
  package enum Silence {
    case deadline
    case brokenConnection
    /// The server sent more than the answer can have.
    case excess
    /// The server ended the connection with this error.
    case ended(SQLState)
    /// The server reported success, and that it may not be one.
    case warning(SQLState?)
  }

  /// Whether the same statement may be answered when it is sent again before the deadline.
  package var isRepeatable: Bool {
    switch self {
    case .server(let state): Set.repeatable.contains(state)
    case .timedOut, .noAnswer(.excess): false
    case .noAnswer: true
    case .notSent(let obstacle):
      switch obstacle {
      case .noConnection: true
      case .refused(let state): !state.isIn("28") && state != .noDatabase
      case .notTrusted, .wrongPeer, .unknownPeer, .exposedPassword, .brokeOff, .otherServer,
        .noPassword, .forkedChild:
        false
      }
    }
  }
}
