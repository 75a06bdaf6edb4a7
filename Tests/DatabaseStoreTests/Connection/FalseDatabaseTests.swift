import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Servers that take the place of a database to get its password.
@Suite(.onOwnThread) struct `a server in the place of a database` {
  private static let isRoot = geteuid() == 0

  @Test(.enabled(if: isRoot), arguments: ["tcp", "tcp6", "socket"], ["clear", "md5", "scram"])
  func `gets no answer when it is a stranger's`(place: String, manner: String) async throws {
    let server = try await FalseDatabase(manner, at: place, as: FalseDatabase.stranger)
    for more in ["", "requirepeer=0", "requirepeer=root"] {
      let error = failure { try opening(server.address(more)).open(until: later) }
      guard case .notSent(.wrongPeer(_, let user)) = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(user == FalseDatabase.strangerName && error.code(.write) == .accessDenied)
      #expect(error?.isRepeatable == false)
    }
    #expect(server.answers.isEmpty && server.connectionCount == 3)
  }

  @Test(.enabled(if: isRoot), arguments: [FalseDatabase.strangerName, "\(FalseDatabase.stranger)"])
  func `gets one when the address names its user`(user: String) async throws {
    let server = try await FalseDatabase("scram", as: FalseDatabase.stranger)
    let error = failure {
      try opening(server.address("requirepeer=\(user)")).open(until: later)
    }
    guard case .notSent(.brokeOff) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(server.answers.count == 1)
  }

  @Test func `cannot be said to be that of a user whom the system does not know`() {
    let error = #expect(throws: StoreError.self) {
      _ = try DatabaseAddress("host=127.0.0.1 requirepeer=no-such-user")
    }
    #expect(error?.code == .invalidKey)
  }

  @Test(arguments: ["tcp", "socket"], ["clear", "md5", "both"])
  func `gets no password in a form that gives it away`(place: String, manner: String) async throws {
    let server = try await FalseDatabase(manner, at: place)
    let error = failure { try opening(server.address()).open(until: later) }
    guard case .notSent(.exposedPassword) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error.code(.write) == .accessDenied && error?.isRepeatable == false)
    #expect(server.answers.isEmpty && server.connectionCount == 1)
  }

  @Test func `is asked once when it breaks off`() async throws {
    let server = try await FalseDatabase("scram")
    #expect(throws: StoreError.self) {
      var options = SealedDatabaseStore.Options()
      options.password = { () throws(StoreError) in SecretBytes(utf8: "horse") }
      _ = try SealedDatabaseStore.open(
        server.address(), key: RawKey(RawKey.random()), options: options)
    }
    #expect(server.answers.count == 1 && server.connectionCount == 1)
  }

  /// With TLS that shows no certificate, and without.
  @Test(arguments: ["md5", "password"], ["host", "hostssl", "hostnossl"])
  func `PostgreSQL itself gets no password in such a form`(
    method: String, kind: String
  ) async throws {
    let server = try await DatabaseServer()
    let encryption = method == "md5" ? "md5" : "scram-sha-256"
    try await server.ask(
      "SET password_encryption = '\(encryption)'; "
        + "ALTER ROLE app PASSWORD '\(DatabaseServer.password)'")
    try """
    local all postgres trust
    local all app \(method)
    \(kind) all app 127.0.0.1/32 \(method)
    hostssl all app ::1/128 \(method)
    """.appending("\n").write(
      toFile: "\(server.directory)/data/pg_hba.conf", atomically: false, encoding: .utf8)
    // A reload takes effect at some time later.
    server.crash()
    try await server.restart()
    for address in [
      server.address(user: "app"), server.address(user: "app", "sslmode=require"),
      server.socketAddress(user: "app"),
    ] where kind != "hostnossl" || !address.contains("require") {
      let error = failure { try opening(address).open(until: later) }
      guard case .notSent(.exposedPassword) = error else {
        Issue.record("\(address): \(String(describing: error))")
        continue
      }
    }
    guard kind == "hostssl" else { return }
    // With a certificate, it gets what it asks for.
    let checked = server.address(
      user: "app", host: "localhost",
      "hostaddr=127.0.0.1 sslmode=verify-full sslrootcert=\(server.authority)")
    #expect(try opening(checked).open(until: later).usesTLS)
  }

  @Test func `a server that insists on TLS gets it, with SCRAM`() async throws {
    let server = try await DatabaseServer()
    try """
    local all all trust
    hostssl all app 127.0.0.1/32 scram-sha-256
    """.appending("\n").write(
      toFile: "\(server.directory)/data/pg_hba.conf", atomically: false, encoding: .utf8)
    // A reload takes effect at some time later.
    server.crash()
    try await server.restart()
    #expect(try opening(server.address(user: "app")).open(until: later).usesTLS)
    let error = failure {
      try opening(server.address(user: "app"), password: "wrong").open(until: later)
    }
    #expect(error.code() == .accessDenied)
  }
}
