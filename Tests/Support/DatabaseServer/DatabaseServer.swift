import Foundation
import Synchronization
import SessionToolsTestSupport

/// A PostgreSQL server of the tests' own, in a temporary directory, with a socket and a TCP port.
///
/// The user `postgres` needs no password, and may do anything; `app` needs one over TCP. Nothing of
/// the machine's own servers is used.
package final class DatabaseServer: Sendable {
  /// Where Debian has the server's programs, of the newest version that is installed.
  package static let programs: String = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return "\(root)/\(versions.compactMap { Int($0) }.max() ?? 0)/bin"
  }()

  /// The password of the user `app`.
  package static let password = "correct horse"

  package let port: UInt16
  package let directory: String
  /// The certificate of the authority that the server's own is from, for `sslrootcert`.
  package let authority: String
  private let program: Mutex<KeptProgram>
  /// The server that this one is a copy of, with whose certificate it proves who it is.
  private let original: DatabaseServer?

  private static let one = Task { try await DatabaseServer() }

  /// Returns the server that tests share which do not harm it.
  package static func shared() async throws -> DatabaseServer { try await one.value }

  /// Makes and starts a server, which offers TLS.
  ///
  /// It also listens on another address of this machine, if one is given, and trusts everyone in
  /// the network of that, of 24 bits.
  ///
  /// With a library for the wall clock, the server is late by as many seconds as ``set(clock:)``
  /// says.
  package convenience init(
    on network: String? = nil, withClockOf library: String? = nil
  ) async throws {
    let directory = try KeptProgram.makeDirectory()
    try await KeptProgram.run(
      "\(Self.programs)/initdb",
      [
        "--pgdata=\(directory)/data", "--username=postgres", "--encoding=UTF8", "--no-locale",
        "--auth=trust", "--no-sync", "--no-instructions",
      ])
    let certificates = try await Certificates(in: "\(directory)/certificates")
    try await self.init(
      startingIn: directory,
      settings: [
        "listen_addresses = '127.0.0.1\(network.map { ",\($0)" } ?? "")'",
        "unix_socket_directories = '\(directory)'",
        "shared_buffers = 16MB", "max_connections = 300", "password_encryption = 'scram-sha-256'",
        "log_min_messages = warning", "ssl = on", "ssl_cert_file = '\(certificates.certificate)'",
        "ssl_key_file = '\(certificates.key)'",
      ], authority: certificates.authority, network: network, clock: library)
    try await ask("CREATE ROLE app LOGIN PASSWORD '\(Self.password)'")
  }

  /// Starts a server whose files are there.
  private init(
    startingIn directory: String, settings: [String], authority: String, network: String? = nil,
    clock library: String? = nil, asCopyOf original: DatabaseServer? = nil
  ) async throws {
    self.original = original
    self.directory = directory
    self.authority = authority
    port = try LocalPort.free()
    let configuration = "\(directory)/data/postgresql.conf"
    let file = try FileHandle(forWritingTo: URL(filePath: configuration))
    try file.seekToEnd()
    let lines = settings + ["port = \(port)"]
    try file.write(contentsOf: Data(("\n" + lines.joined(separator: "\n") + "\n").utf8))
    try file.close()
    try """
    local all all trust
    local replication all trust
    host all postgres 127.0.0.1/32 trust
    host all app 127.0.0.1/32 scram-sha-256
    \(network.map { "host all all \($0)/24 trust" } ?? "")
    """.appending("\n").write(
      toFile: "\(directory)/data/pg_hba.conf", atomically: false, encoding: .utf8)
    program = Mutex(try Self.program(in: directory, clock: library))
    try await waitUntilReady()
  }

  deinit {
    program.withLock { $0.end() }
    // A server that has crashed has left its directory, so that it can be started again.
    try? FileManager.default.removeItem(atPath: directory)
  }

  private static func program(
    in directory: String, clock library: String? = nil
  ) throws -> KeptProgram {
    var clock = ""
    if let library {
      // The server's user may not read where the test has it.
      let copy = "\(directory)/clock.so"
      if !FileManager.default.fileExists(atPath: copy) {
        try FileManager.default.copyItem(atPath: library, toPath: copy)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy)
      }
      clock = "export LD_PRELOAD=\(copy) SHIFTED_CLOCK_FILE=\(directory)/clock; "
    }
    // Its output goes to a file for the tests that read it, and for people after a failure.
    return try KeptProgram(
      "/bin/sh",
      ["-c", "\(clock)exec \(programs)/postgres -D \(directory)/data >>\(directory)/log 2>&1"],
      in: directory)
  }

  private func waitUntilReady() async throws {
    try await wait(until: "the server is ready") {
      guard isRunning else { throw NeverHappened(what: "the server starts: \(log)") }
      return (try? await ask("SELECT 1")) != nil
    }
  }

  package var isRunning: Bool { program.withLock { $0.isRunning } }

  /// What the server has written into its log.
  package var log: String {
    (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
  }

  // MARK: - Addresses

  /// Returns the address of the socket, for a user.
  package func socketAddress(user: String = "postgres", database: String = "postgres") -> String {
    "host=\(directory) port=\(port) user=\(user) dbname=\(database)"
  }

  /// Returns the address of the port, for a user.
  package func address(
    user: String = "postgres", host: String = "127.0.0.1", port: UInt16? = nil,
    _ more: String = ""
  ) -> String {
    "host=\(host) port=\(port ?? self.port) user=\(user) dbname=postgres \(more)"
  }

  // MARK: - Asking and harming

  /// Runs a statement as the superuser, by psql.
  @discardableResult
  package func ask(_ statement: String) async throws -> String {
    let text = try await Program.run(
      "/usr/bin/psql",
      ["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement, socketAddress()],
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
    return text.trimmingCharacters(in: .newlines)
  }

  /// Sets how many seconds the server's wall clock is ahead.
  package func set(clock seconds: Int) throws {
    try "\(seconds)\n".write(
      toFile: "\(directory)/clock", atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: "\(directory)/clock")
  }

  /// Runs a script as the superuser in one of the databases.
  package func run(_ script: String, in database: String) async throws {
    _ = try await Program.run(
      "/usr/bin/psql",
      ["-XAtq", "-v", "ON_ERROR_STOP=1", socketAddress(database: database)], input: script,
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
  }

  /// The process that accepts connections.
  package var process: Int32 {
    let text = try? String(contentsOfFile: "\(directory)/data/postmaster.pid", encoding: .utf8)
    return text?.split(separator: "\n").first.flatMap { Int32($0) } ?? -1
  }

  /// Sends a signal to one of the server's processes.
  package func signal(_ signal: Int32, process: Int32) {
    guard process > 1 else { return }
    kill(process, signal)
  }

  /// Kills the server and all its processes, as in a crash.
  package func crash() {
    signal(SIGKILL, process: process)
    program.withLock { $0.waitUntilExit() }
  }

  /// Starts the server again after a crash.
  package func restart() async throws {
    try program.withLock { $0 = try Self.program(in: directory) }
    try await waitUntilReady()
  }

  // MARK: - Standby

  /// How a standby follows this server.
  package enum Following: Sendable {
    /// It confirms each commit.
    case synchronously
    /// It has a commit some time after it was confirmed.
    case asynchronously
  }

  /// Makes a standby of this server.
  package func makeStandby(
    following: Following = .synchronously
  ) async throws -> DatabaseServer {
    let directory = try KeptProgram.makeDirectory()
    try await KeptProgram.run(
      "\(Self.programs)/pg_basebackup",
      [
        "--pgdata=\(directory)/data", "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
        "--dbname=\(socketAddress()) application_name=standby",
      ])
    let standby = try await DatabaseServer(
      startingIn: directory, settings: ["unix_socket_directories = '\(directory)'"],
      authority: authority, asCopyOf: self)
    var state = "async"
    if following == .synchronously {
      state = "sync"
      try await ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
      try await ask("SELECT pg_reload_conf()")
    }
    try await wait(until: "the standby follows") {
      try await ask("SELECT sync_state FROM pg_stat_replication") == state
    }
    return standby
  }

  /// Waits until a standby has all that this server has written.
  package func waitForStandby() async throws {
    try await wait(until: "the standby has everything") {
      try await ask(
        "SELECT pg_current_wal_lsn() <= replay_lsn FROM pg_stat_replication") == "t"
    }
  }

  /// Lets the standby receive nothing from now on.
  package func stopSending() async throws {
    let process = try await ask("SELECT pid FROM pg_stat_replication")
    signal(SIGSTOP, process: Int32(process) ?? -1)
  }

  /// The process of a standby that receives what its primary writes.
  package func receiver() throws -> Int32 {
    let root = "/proc/\(process)/task/\(process)/children"
    let children = try String(contentsOfFile: root, encoding: .utf8).split(separator: " ")
    for child in children.compactMap({ Int32($0) }) {
      // Another one may have ended just now.
      let title = try? String(contentsOfFile: "/proc/\(child)/cmdline", encoding: .utf8)
      if title?.contains("walreceiver") == true { return child }
    }
    throw NeverHappened(what: "a process receives from the primary")
  }

  /// Makes a primary of a standby.
  package func promote() async throws {
    try await ask("SELECT pg_promote(true, 300)")
  }
}
