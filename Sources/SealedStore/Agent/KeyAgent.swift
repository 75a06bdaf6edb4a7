import Glibc
package import SecretStores

/// The process that keeps keys for its user's programs, as they see it: `session-tools agent`,
/// which `session-tools unlock` starts.
///
/// What it keeps is the key of the slot that opened a store, not the store's own keys: it opens
/// exactly what the passphrase opened, and nothing more once the slot is changed, removed or
/// revoked. A rotation leaves it valid, as it leaves the passphrase.
///
/// The agent is reached by a socket of mode 0600 in a directory of mode 0700; each side also checks
/// that the other belongs to its own user. A key passes through memory of both that is wiped at
/// once, and through the kernel's; the agent keeps it in ``GuardedMemory``.
package struct KeyAgent: Sendable {
  /// The socket's name in ``directoryPath``.
  package static let socketName = "agent.sock"
  /// The time in which the agent must answer.
  private static let timeout = Duration.seconds(5)

  /// The directory of the socket: `$XDG_RUNTIME_DIR/session-tools`.
  package static var directoryPath: String {
    get throws(StoreError) { "\(try UserDirectory.runtime.path)/session-tools" }
  }

  private let path: String?

  /// Names the agent with its socket in a directory; by default, in ``directoryPath``.
  package init(directoryPath: String? = nil) {
    path = directoryPath
  }

  /// Asks the agent.
  ///
  /// - Returns: The answer; `nil` when there is no agent, or it ended meanwhile.
  /// - Throws: `timedOut`, `unsafePermissions`, `accessDenied`, `unsupportedVersion`, `unavailable`
  ///   when the system gives no memory, or `io`.
  package func ask(_ request: AgentRequest) throws(StoreError) -> AgentAnswer? {
    guard let directory = try self.directory() else { return nil }
    let socketPath = directory.pathOfFile(Self.socketName)
    let received: AgentMessage?
    do throws(SystemCallError) {
      received = try Self.exchange(request.message, in: directory)
    } catch let error where error.errno == ETIMEDOUT {
      throw StoreError(
        .timedOut, store: socketPath, reason: "the agent does not answer",
        remedy: "End it, and the keys that it keeps, with pkill -KILL -U \(CurrentProcess.user) "
          + "-f 'session-tools agent$'",
        errno: error.errno, isTransient: false)
    } catch {
      throw StoreError(error, path: socketPath)
    }
    guard let message = received else { return nil }
    switch try AgentAnswer(message) {
    case .notUnderstood, nil:
      throw StoreError(
        .unsupportedVersion, store: socketPath, reason: "the agent is of another version",
        remedy: "End it with rm \(socketPath.shellQuoted), which wipes the keys that it keeps")
    case let answer?: return answer
    }
  }

  private func directory() throws(StoreError) -> PrivateDirectory? {
    // An agent needs such a place as well: without one, none can run.
    guard let path = path ?? (try? Self.directoryPath) else { return nil }
    do throws(StoreError) {
      return try PrivateDirectory(path, fileSystem: LinuxFileSystem())
    } catch let error where error.code == .unavailable {
      return nil
    }
  }

  /// Sends a message and receives the answer; `nil` when there is no agent.
  private static func exchange(
    _ message: AgentMessage, in directory: PrivateDirectory
  ) throws(SystemCallError) -> AgentMessage? {
    let deadline = ContinuousClock.now + timeout
    while let socket = try LocalSocket.connected(
      to: socketName, in: directory.descriptor, until: deadline)
    {
      if socket.send(message), let answer = try answer(from: socket, until: deadline) {
        return answer
      }
      // It was closed without an answer: the agent has too many connections, or is about to end.
      guard ContinuousClock.now < deadline else { throw SystemCallError("recv", ETIMEDOUT) }
      _ = poll(nil, 0, .random(in: 5...20))
    }
    return nil
  }

  private static func answer(
    from socket: LocalSocket, until deadline: ContinuousClock.Instant
  ) throws(SystemCallError) -> AgentMessage? {
    var incoming = IncomingAgentMessage()
    while true {
      switch incoming.read(from: socket) {
      case .complete(let answer): return answer
      case .ended: return nil
      case .incomplete:
        let left = deadline - ContinuousClock.now
        guard left > .zero else { throw SystemCallError("recv", ETIMEDOUT) }
        LocalSocket.wait(for: [socket.descriptor], atMost: left)
      }
    }
  }
}
