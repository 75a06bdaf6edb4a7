import Glibc
import SessionToolsBase

/// Answers the connections that systemd makes for `LoadCredential=NAME:SOCKET` in a unit.
///
/// Source: systemd.exec(5). systemd reads the credential to the end of the connection. The name of
/// its own socket says what it wants: `RANDOM/unit/UNIT/NAME`.
struct CredentialServer {
  /// What systemd asks for.
  struct Request: CustomStringConvertible {
    let unit: String
    let credential: String

    /// Reads the name of systemd's socket; `nil` if it is not of that form.
    init?(socketName: String) {
      let parts = socketName.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 4, parts[1] == "unit", !parts[2].isEmpty, !parts[3].isEmpty else {
        return nil
      }
      unit = String(parts[2])
      credential = String(parts[3])
    }

    var description: String { "\(unit), credential \(credential)" }
  }

  /// The listening sockets.
  let listeners: [Int32]
  /// How long to wait for the next connection before the server ends.
  let idleTimeout: Duration
  /// How long to wait for a peer to read.
  let sendingTimeout: Duration

  /// An answer that systemd refuses, which fails the unit: a byte more than a credential may have.
  ///
  /// The protocol has no other way to say no. To end the connection would be a credential without
  /// any bytes, and the unit would start with that.
  private static let refusal = SecretBytes([UInt8](repeating: 0, count: (1 << 20) + 1))

  /// Answers connections, one after the other, until no more come for a time.
  ///
  /// The end of a connection without an answer is a credential without any bytes, with which the
  /// unit would start, or go on after a reload. Therefore what may take long comes before a
  /// connection is accepted: if this process ends meanwhile, systemd starts it again for that
  /// connection. And SIGTERM, as at an upgrade, waits until an accepted one has its answer.
  ///
  /// - Parameters:
  ///   - prepare: Is called before each connection is accepted.
  ///   - credential: Returns what a request asks for. Its errors are reported on standard error,
  ///     and fail the unit that asks.
  /// - Throws: The kernel's error if no more connections can be accepted.
  func run(
    preparing prepare: () -> Void, _ credential: (Request) throws -> SecretBytes
  ) throws(SystemCallError) {
    while let listener = try LocalConnection.arrival(at: listeners, within: idleTimeout) {
      prepare()
      try answerNext(of: listener, credential)
    }
  }

  private func answerNext(
    of listener: Int32, _ credential: (Request) throws -> SecretBytes
  ) throws(SystemCallError) {
    var termination = sigset_t()
    var before = sigset_t()
    unsafe sigemptyset(&termination)
    unsafe sigaddset(&termination, SIGTERM)
    unsafe pthread_sigmask(SIG_BLOCK, &termination, &before)
    defer { unsafe _ = pthread_sigmask(SIG_SETMASK, &before, nil) }
    // Of a connection that is gone again, there is nothing to report.
    guard let connection = try LocalConnection.accepted(from: listener) else { return }
    answer(connection, credential)
  }

  private func answer(
    _ connection: LocalConnection, _ credential: (Request) throws -> SecretBytes
  ) {
    // The mode of the socket is not enough: it may be wrong, and a name is easily made up.
    let users: [UInt32?] = [0, CurrentProcess.user]
    guard users.contains(connection.peerUser) else {
      return complain("a connection by another user was closed")
    }
    guard let name = connection.peerName, let request = Request(socketName: name) else {
      return complain("a connection that is not systemd's was closed")
    }
    do throws(SystemCallError) {
      try connection.send(value(for: request, credential), within: sendingTimeout)
    } catch {
      complain("\(request): \(error.call): \(CurrentProcess.message(for: error.errno))")
    }
  }

  private func value(
    for request: Request, _ credential: (Request) throws -> SecretBytes
  ) -> SecretBytes {
    do {
      return try credential(request)
    } catch {
      complain("\(request): \(RootCommand.text(of: error))")
      return Self.refusal
    }
  }

  private func complain(_ text: String) {
    StandardError.say("session-tools: \(text)")
  }
}
