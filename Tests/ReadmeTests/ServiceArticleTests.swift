import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The program of the article about a service, at a real authorization server.
@Suite(.serialized, .onOwnThread) struct ServiceArticleTests {
  @Test func `hundreds of users are refreshed once each, by several processes`() async throws {
    let count = TestSize.choose(small: 60, medium: 300, large: 1000)
    let stage = try ServiceStage()
    try await stage.importUsers(0..<count)

    // Ended while the server has tokens that it did not answer yet.
    try await stage.server.set("hold=1")
    let first = try stage.start()
    try await wait(until: "the server has tokens") { try await stage.server.counts().held > 0 }
    first.signal(SIGTERM)
    try await stage.server.set("hold=0")
    #expect(first.waitUntilExit() == 0, "\(first.log)")

    let services = [try stage.start(), try stage.start()]
    for service in services {
      try await wait(until: "all users have an answer") { service.roundWithoutFailure(of: count) }
    }
    let counts = try await stage.server.counts()
    #expect(counts.refreshes == count)
    #expect(counts.reuses == 0 && counts.rejected == 0)

    // Both continue when a third process seals everything again and a fourth adds users.
    try await stage.rotate()
    try await stage.importUsers(count..<count + 20)
    for service in services {
      try await wait(until: "new users have an answer") {
        service.roundWithoutFailure(of: count + 20)
      }
      service.signal(SIGTERM)
      #expect(service.waitUntilExit() == 0, "\(service.log)")
    }
    let later = try await stage.server.counts()
    #expect(later.refreshes == count + 20)
    #expect(later.reuses == 0 && later.rejected == 0)
  }

  @Test func `a busy server signs no user out, and a rejection does`() async throws {
    let count = 20
    let stage = try ServiceStage()
    let tokens = try await stage.importUsers(0..<count)
    let service = try stage.start()
    try await wait(until: "all users have an answer") { service.roundWithoutFailure(of: count) }

    try await stage.server.set("status=503&uses=0")
    try await wait(until: "no user has an answer") {
      service.lines.count(where: { $0.contains("cannot be refreshed now, and was kept") }) >= count
    }
    try await stage.server.set("status=200&uses=1000000")
    let end = service.lines.count
    try await wait(until: "all users have an answer again") {
      service.roundWithoutFailure(of: count, after: end)
    }

    try await stage.server.set("revoke=1")
    try await wait(until: "no user is left") {
      service.lines.contains("synchronized 0 accounts")
    }
    for user in 0..<count {
      let line = "user \(user): the server ended the login; ask the user to log in again"
      #expect(service.lines.count(where: { $0 == line }) == 1)
    }
    service.signal(SIGTERM)
    #expect(service.waitUntilExit() == 0)
    #expect(try await stage.server.counts().reuses == 0)
    let log = service.log
    #expect(tokens.allSatisfy { !log.contains($0) }, "no token is in the log")
  }

  @Test func `the service names the credential that it lacks without its unit`() async throws {
    let stage = try ServiceStage()
    let service = try stage.start(["CREDENTIALS_DIRECTORY": ""])
    #expect(service.waitUntilExit() != 0)
    #expect(service.log.contains("LoadCredentialEncrypted=store-key"))
  }

  @Test func `the unit gives the program the credential and the directory that it uses`() throws {
    let program = try #require(ServiceStage.blocks("swift").first)
    let unit = try #require(ServiceStage.blocks("ini").first)
    let credential = try #require(program.firstMatch(of: /SystemdCredential\("([^"]+)"\)/)?.1)
    #expect(unit.contains("\nLoadCredentialEncrypted=\(credential):"))
    #expect(ServiceStage.article.contains("systemd-creds encrypt --name=\(credential) "))
    #expect(program.contains("\"STATE_DIRECTORY\"") && unit.contains("\nStateDirectory="))
  }
}
