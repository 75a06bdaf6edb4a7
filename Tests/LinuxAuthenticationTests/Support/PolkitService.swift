import Foundation
import LinuxAuthentication
import SessionToolsTestSupport

/// The real polkitd on a bus of its own, in a namespace with accounts, where the library's policy
/// files declare the actions.
final class PolkitService: Sendable {
  static let action = "org.sessiontools.test.unlock"
  static let message = "Unlock \"this\" & <that>"
  /// An action that a rule forbids.
  static let forbidden = "org.sessiontools.test.forbidden"
  /// An action that everyone may perform without a question.
  static let free = "org.sessiontools.test.free"

  private let directory: TemporaryDirectory
  private let machine: PrivateMachine
  private let daemon: Daemon

  init() async throws {
    directory = try TemporaryDirectory.readableByAll()
    for (action, authorization) in [
      (Self.action, "auth_self"), (Self.forbidden, "no"), (Self.free, "yes"),
    ] {
      let policy = PolkitAuthenticator.Policy(action: action, message: Self.message)
      try directory.write(
        policy.content.replacing("auth_self", with: authorization), to: "\(action).policy")
    }
    machine = try await PrivateMachine(
      preparation: "mount --bind '\(directory.path)' /usr/share/polkit-1/actions")
    daemon = try await machine.start(
      "/usr/lib/polkit-1/polkitd", ["--no-debug"], name: "org.freedesktop.PolicyKit1")
  }

  /// Starts a worker as a user; it evaluates after a line of input.
  func worker(
    _ arguments: String..., as identifier: Int? = OtherAccounts.ada.identifier
  ) async throws -> AuthenticationWorker {
    try await AuthenticationWorker(
      arguments, at: machine.accounts.workerPath, under: machine.accounts.prefix(identifier))
  }

  /// Starts an agent for a process, and waits until it is ready.
  func agent(for process: Int32, _ conduct: String...) async throws -> PolkitAgent {
    try await PolkitAgent(
      [machine.accounts.agentPath, "\(process)"] + conduct,
      under: machine.accounts.prefix(OtherAccounts.ada.identifier))
  }

  /// Kills polkitd, as in a crash.
  func kill() { daemon.kill() }
}

/// A process of `Tests/Services/PolkitAgent`.
final class PolkitAgent: Sendable {
  private let child: Child
  private let output: FileHandle

  init(_ arguments: [String], under prefix: [String]) async throws {
    let pipe = try ClosedPipe()
    let complaints = try CapturedText()
    let command = prefix + ["/usr/bin/python3"] + arguments
    child = try Child(
      command[0], Array(command.dropFirst()),
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
      output: pipe.writer.fileDescriptor, errors: complaints.writer.fileDescriptor)
    try pipe.writer.close()
    output = pipe.reader
    guard try await line() == "ready" else {
      throw NeverHappened(what: "an agent is ready; it said: \(complaints.text)")
    }
  }

  deinit {
    child.kill()
    child.waitUntilExit()
  }

  /// Returns its next line, or `nil` if it has ended.
  func line() async throws -> String? { try await output.line() }
}
