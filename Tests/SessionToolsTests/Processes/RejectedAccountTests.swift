import Foundation
import SessionTools
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A rejection by another process, which has ended since.
@Suite(.onOwnThread) struct `an account that another process found rejected` {
  private struct Token: Codable, Sendable { var number = 0 }

  @Test func `is listed with the reason, and its session and all streams have it`() async throws {
    let directory = try TemporaryDirectory()
    let store = try SealedFileStore.create(
      at: directory["store"], key: KeyFile.create(at: directory["key"]))
    let accounts = try UserAccounts(
      container: StoreContainer<Token>(store, service: "worker"))
    let (ada, bob) = (try AccountIdentifier("ada"), try AccountIdentifier("bob"))
    try await accounts.signIn([bob: Token()])
    var states = accounts.states.makeAsyncIterator()
    #expect(await states.next()?.map(\.account) == [bob])
    var session = accounts.session(of: ada).states.makeAsyncIterator()
    _ = await session.next()

    let outcome = try Program.outcome(of: [
      BuildDirectory.program("SessionToolsSessionWorker"), "reject", directory["store"],
      directory["key"], "http://localhost", "ada",
    ])
    #expect(outcome.text == "rejected\n", "\(outcome.complaint)")

    let texts = [
      "ada: signed out by the server: server: the grant was revoked.", "bob: signed in",
    ]
    var seen = await states.next()
    // Those between may be missed or not.
    while seen?.map({ "\($0)" }) != texts {
      #expect(seen?.first?.status == .signedIn)
      seen = await states.next()
    }
    guard case .rejected(let rejection)? = seen?.first?.status,
      case .signedOut(.rejected(let cause)) = await accounts.session(of: ada).currentState()
    else {
      Issue.record("it is not rejected")
      return
    }
    #expect(cause as? RecordedRejection == rejection)
    #expect(try await accounts.current() == ada, "the program shows whom to ask for a login")

    try await accounts.session(of: ada).signIn(Token(number: 1))
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn, .signedIn])
    try await accounts.remove(ada)
    #expect(try await store.names(in: nil).map(\.identifier) == ["account/bob/user"])
  }

  @Test(arguments: [12_000])
  func `is one of thousands that are signed in and listed at once`(count: Int) async throws {
    let directory = try TemporaryDirectory()
    let store = try SealedFileStore.create(
      at: directory["store"], key: KeyFile.create(at: directory["key"]))
    let accounts = try UserAccounts(container: StoreContainer<Token>(store, service: "worker"))
    let users = try Dictionary(
      uniqueKeysWithValues: (0..<count).map {
        (try AccountIdentifier("user \($0)"), Token(number: $0))
      })
    try await accounts.signIn(users)
    #expect(try await accounts.all().count == count)
    let states = try await accounts.currentStates()
    #expect(states.map(\.account) == users.keys.sorted())
    #expect(states.allSatisfy { $0.status == .signedIn })
  }
}
