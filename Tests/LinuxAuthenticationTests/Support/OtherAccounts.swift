import Foundation
import SessionToolsTestSupport

/// Accounts that only programs started here can see: a mount namespace with a user database of its
/// own, mounted over the machine's.
final class OtherAccounts: Sendable {
  /// The password of all accounts that have one.
  static let password = "pferd-batterie-klammer-7f3a91c2e5d80b46"
  /// The hash of the password by crypt(3).
  private static let hash =
    "$6$sessiontools$mwLgHReNArchmOucEIBwk4P4cVE1DRIMnmWiX0tA9ADF"
    + "OF2r5d0qB5HW6wLm0QjZ0YmcWmFYc/.LEoNDmN37D."

  struct Account: Sendable {
    let name: String
    let identifier: Int
    /// The fields of shadow(5): the hash, the last change, least and largest age, warning,
    /// inactivity and expiration.
    let shadow: String
  }

  static let ada = Account(name: "st-ada", identifier: 64_242, shadow: "\(hash):20000:0:99999:7::")
  static let bob = Account(name: "st-bob", identifier: 64_243, shadow: "\(hash):20000:0:99999:7::")
  static let open = Account(name: "st-open", identifier: 64_244, shadow: ":20000:0:99999:7::")
  static let expired = Account(
    name: "st-expired", identifier: 64_245, shadow: "\(hash):20000:0:99999:7::1")
  static let stale = Account(
    name: "st-stale", identifier: 64_246, shadow: "\(hash):0:0:99999:7::")

  private let directory: TemporaryDirectory
  private let holder: Child
  /// Closing this ends the namespace.
  private let holderInput: FileHandle
  private let holderProcess: Int32

  /// A copy of the worker: other users may not be able to reach the checkout.
  let workerPath: String
  /// A copy of the program of ``PolkitAgent``.
  let agentPath: String

  /// Creates the namespace.
  ///
  /// - Parameter preparation: The commands that a shell runs in it first, as root.
  /// - Throws: An error if it cannot be created.
  init(preparation: String = "") async throws {
    directory = try TemporaryDirectory.readableByAll()
    var users = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
    var passwords = ""
    for account in [Self.ada, Self.bob, Self.open, Self.expired, Self.stale] {
      let identifiers = "\(account.identifier):\(account.identifier)"
      users += "\(account.name):x:\(identifiers)::/nonexistent:/bin/sh\n"
      passwords += "\(account.name):\(account.shadow):\n"
    }
    try directory.write(users, to: "passwd")
    (workerPath, agentPath) = (directory["AuthenticationWorker"], directory["agent.py"])
    let agent = "\(SourceDirectory.path)/Tests/Services/PolkitAgent/agent.py"
    for (source, copy) in [(AuthenticationWorker.path, workerPath), (agent, agentPath)] {
      try FileManager.default.copyItem(atPath: source, toPath: copy)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy)
    }
    try Data(passwords.utf8).write(to: URL(filePath: directory["shadow"]))
    // unix_chkpwd, which reads the passwords for unprivileged processes, has the group shadow. At
    // the end the script kills all processes left in the namespace, including those under `sudo`.
    let script = """
      set -e
      # Services of the namespace have users of their own.
      umask 022
      chown root:shadow '\(directory["shadow"])'
      chmod 0640 '\(directory["shadow"])'
      mount --bind '\(directory["passwd"])' /etc/passwd
      mount --bind '\(directory["shadow"])' /etc/shadow
      \(preparation)
      echo $$
      cat >/dev/null
      own=$(readlink /proc/$$/ns/mnt)
      for process in /proc/[0-9]*; do
        number=${process#/proc/}
        if [ $number != $$ ] && [ "$(readlink $process/ns/mnt)" = "$own" ]; then
          kill -9 $number || true
        fi
      done
      """
    let command =
      Self.root + [
        "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script,
      ]
    let output: FileHandle
    (holder, holderInput, output) = try Child.piped(
      command[0], Array(command.dropFirst()),
      environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"])
    let line = try await output.line()
    guard let process = line.flatMap({ Int32($0) }) else {
      throw NeverHappened(what: "a mount namespace of one's own, which needs root or sudo")
    }
    holderProcess = process
  }

  deinit {
    try? holderInput.close()
    holder.waitUntilExit()
  }

  private static var root: [String] { geteuid() == 0 ? [] : ["/usr/bin/sudo", "-n"] }

  /// Returns the command that starts a program in the namespace.
  ///
  /// - Parameters:
  ///   - identifier: The user who runs the program; root if `nil`.
  ///   - options: More options of setpriv(1).
  /// - Returns: The command, to which the program and its arguments are appended.
  func prefix(_ identifier: Int?, options: [String] = []) -> [String] {
    let enter = ["/usr/bin/nsenter", "--mount=/proc/\(holderProcess)/ns/mnt", "--"]
    let user = identifier.map {
      ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] + options
    }
    return Self.root + enter + (user ?? [])
  }

  /// Starts a worker as one of the users.
  func worker(
    _ identifier: Int?, _ arguments: String..., options: [String] = [],
    environment: [String: String] = [:]
  ) async throws -> AuthenticationWorker {
    // By env, because sudo does not pass on the environment.
    let variables = environment.map { "\($0)=\($1)" }
    return try await AuthenticationWorker(
      arguments, at: workerPath,
      under: prefix(identifier, options: options) + ["/usr/bin/env"] + variables)
  }
}
