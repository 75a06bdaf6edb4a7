import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What a connection is opened to, and what is refused.
@Suite(.onOwnThread) struct OpeningTests {
  @Test func `the password is asked for at each connection`() async throws {
    let server = try await DatabaseServer.shared()
    let asked = Atomic(0)
    let opening = ConnectionOpening(
      try DatabaseAddress(server.address(user: "app")), statements: .named
    ) { () throws(StoreError) in
      asked.add(1, ordering: .relaxed)
      return SecretBytes(utf8: DatabaseServer.password)
    }
    for _ in 0..<3 {
      let connection = try opening.open(until: later)
      #expect(try connection.run("SELECT current_user::text").text(0, 0) == "app")
    }
    #expect(asked.load(ordering: .relaxed) == 3)
  }

  @Test(arguments: ["wrong horse", "", nil])
  func `a wrong password is refused`(password: String?) async throws {
    let server = try await DatabaseServer.shared()
    let error = failure {
      try opening(server.address(user: "app"), password: password).open(until: later)
    }
    #expect(error?.kind == .notSent && error?.isRepeatable == false)
    #expect(error.code() == .accessDenied)
  }

  @Test func `an error of the password's source reaches the caller`() async throws {
    let server = try await DatabaseServer.shared()
    let opening = ConnectionOpening(
      try DatabaseAddress(server.address(user: "app")), statements: .named
    ) { () throws(StoreError) in
      throw StoreError(.keyMissing, store: "vault", reason: "the password is gone")
    }
    #expect(failure { try opening.open(until: later) }.code() == .keyMissing)
    let zero = try ConnectionOpening(DatabaseAddress(server.address()), statements: .named) {
      () throws(StoreError) in SecretBytes([1, 0, 2])
    }
    #expect(failure { try zero.open(until: later) }.code() == .invalidKey)
  }

  @Test func `a name is looked up, and its server must have the authority's certificate`()
    async throws
  {
    let server = try await DatabaseServer.shared()
    let address = server.address(host: "localhost", "sslrootcert=\(server.authority)")
    let connection = try opening(address).open(until: later)
    #expect(connection.usesTLS)
    let answer = try connection.run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    #expect(answer.bool(0, 0) == true)
  }

  @Test func `a server that does not prove to be the right one is refused`() async throws {
    let server = try await DatabaseServer.shared()
    let right = server.authority
    let other = try await Certificates(in: "\(server.directory)/others")
    let pooler = try await Pooler(of: server)
    let addresses = [
      // From another authority, from an unknown one, for another host, and no TLS at all.
      server.address(host: "localhost", "sslrootcert=\(other.authority)"),
      server.address(host: "localhost", "sslrootcert=/nonexistent"),
      server.address(
        host: "db.test", "hostaddr=127.0.0.1 sslmode=verify-full sslrootcert=\(right)"),
      server.address(host: "localhost", port: pooler.port, "sslrootcert=\(right)"),
    ]
    for address in addresses {
      let error = failure { try opening(address).open(until: later) }
      guard case .notSent(.notTrusted) = error else {
        Issue.record("\(address): \(String(describing: error))")
        continue
      }
      #expect(error.code(.write) == .accessDenied)
    }
    let plain = server.address(host: "localhost", port: pooler.port, "sslmode=disable")
    let connection = try opening(plain, .unnamed, allowsPlaintext: true).open(until: later)
    #expect(!connection.usesTLS)
  }

  @Test func `where no server is, there is no connection`() async throws {
    let server = try await DatabaseServer.shared()
    let port = try LocalPort.free()
    for address in [
      server.address(port: port), "host=/nonexistent port=1",
      server.address(host: "no-such-host.invalid", "sslrootcert=/nonexistent"),
    ] {
      let error = failure { try opening(address).open(until: later) }
      guard case .notSent(.noConnection) = error else {
        Issue.record("\(address): \(String(describing: error))")
        continue
      }
      #expect(error.code(.write) == .unavailable)
    }
    let error = failure {
      try opening(server.socketAddress(database: "none")).open(until: later)
    }
    guard case .notSent(.refused(let state)) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(state.code == "3D000" && error.code() == .unavailable)
  }

  @Test func `a server that is not PostgreSQL is refused`() async throws {
    let server = try await DatabaseServer.shared()
    let proxy = try FaultProxy(to: server.port)
    let opening = try opening(server.address(port: proxy.port, "sslmode=disable"))
    _ = try opening.open(until: later)
    for number in 0..<proxy.counts.toClient {
      // The version is in one of the messages.
      proxy.plan(.replacement(of: "PostgreSQL 1", by: "CockroachDB "), at: number, .toClient)
      guard let error = refusal(opening) else { continue }
      guard case .notSent(.otherServer) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(error.storeError(.write, store: "db").code == .unavailable)
      return
    }
    Issue.record("no message has the version")
  }

  private func refusal(_ opening: ConnectionOpening) -> DatabaseFailure? {
    do throws(DatabaseFailure) {
      _ = try opening.open(until: later)
      return nil
    } catch {
      return error
    }
  }

  @Test func `the next host is tried, and remembered`() async throws {
    let server = try await DatabaseServer.shared()
    let proxy = try FaultProxy(to: server.port)
    // The first one refuses, the second one is silent, the third one answers.
    let ports = [try LocalPort.free(), proxy.port, server.port].map { "\($0)" }
    let opening = try opening(
      "host=127.0.0.1,127.0.0.1,127.0.0.1 port=\(ports.joined(separator: ",")) "
        + "user=postgres dbname=postgres")
    proxy.plan(.blackHole)
    _ = try opening.open(until: later)
    #expect(proxy.counts.toServer == 1)
    _ = try opening.open(until: later)
    #expect(proxy.counts.toServer == 1, "the silent one was not asked again")
  }
}
