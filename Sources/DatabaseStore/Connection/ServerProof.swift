import SecretStores

/// Who may run the server that a process on this machine connects to.
///
/// Any user can listen on a free port, and make a socket in a directory such as `/tmp`, where
/// PostgreSQL itself puts it by default: while the server is down, the password would be asked for
/// by someone else. So without a checked certificate, the process at the other end must be known.
struct ServerProof: Sendable {
  /// The user that the address names with `requirepeer`, as libpq calls it; `nil` for the usual
  /// ones.
  private let named: UInt32?

  /// - Parameter name: The name or the number of a user; `nil` for `root`, `postgres` and the user
  ///   of this process.
  /// - Throws: `invalidKey` when there is no such user.
  init(named name: String?) throws(StoreError) {
    guard let name else {
      named = nil
      return
    }
    guard let user = UInt32(name) ?? CurrentProcess.user(named: name) else {
      throw StoreError(
        .invalidKey, store: "database",
        reason: "the address of the database has requirepeer=\(name), and there is no such user",
        remedy: "Name the user whose process accepts the connections, or give its number")
    }
    named = user
  }

  /// Checks who serves a connection within this machine.
  ///
  /// - Throws: `notSent`.
  func check(_ wire: ServerWire, _ endpoint: DatabaseEndpoint) throws(DatabaseFailure) {
    guard let user = wire.serverUser, CurrentProcess.isKnown(user: user) else {
      guard wire.isEnding else { throw .notSent(.unknownPeer("\(endpoint)")) }
      // Of a process that has closed the connection, the kernel does not know the user. Its last
      // words, such as that it has no connection left, are still for libpq; they get no answer.
      wire.stopSending()
      return
    }
    if let named {
      guard user != named else { return }
    } else if [0, CurrentProcess.user].contains(user)
      || user == CurrentProcess.user(named: "postgres")
    {
      return
    }
    throw .notSent(.wrongPeer("\(endpoint)", user: CurrentProcess.name(ofUser: user) ?? "\(user)"))
  }
}
