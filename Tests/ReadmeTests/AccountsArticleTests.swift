import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The code of the article about accounts, in a program that uses all of it.
@Suite(.onOwnThread) struct AccountsArticleTests {
  static let blocks = ReadmeTests.blocks(
    "swift",
    in: ReadmeTests.file(
      "Sources/SessionToolsSessions/SessionToolsSessions.docc/AccountsOfAProgram.md"))

  /// The server rejects Bob's refresh.
  private static let rest = """
    let container = try StoreContainer<Mailbox>(MemoryStore(), service: "com.example.mail")
    let accounts = try makeAccounts(
      in: container,
      refresher: SessionRefresher(expiration: { $0.token == "old" ? .distantPast : nil }) { _ in
        .rejected(StoreError(.io, store: "server", reason: "the grant was revoked"))
      })
    try await importUsers(
      ["ada": Mailbox(address: "a@example.com", token: "new")], to: accounts)
    try await signIn(Mailbox(address: "b@example.com", token: "old"), as: "bob", to: accounts)
    do { _ = try await token(of: accounts) } catch SessionError.rejected { print("rejected") }
    for line in try await list(accounts) { print(line.split(separator: ",")[0]) }
    try await use("ada", of: accounts)
    print(try await token(of: accounts) ?? "none")
    try await signOut("bob", of: accounts)
    print(try await list(accounts))
    let following = Task {
      await follow(accounts) { states in
        print(states)
        exit(0)
      }
    }
    await following.value
    """

  @Test func `the program lists, uses and follows its accounts`() throws {
    try #require(Self.blocks.count == 4)
    let text = "import Foundation\n" + (Self.blocks + [Self.rest]).joined(separator: "\n")
    let program = try ArticleProgram(text)
    let outcome = try Program.outcome(of: [program.path])
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(
      outcome.text == """
        rejected
          ada
        * bob: log in again (server: the grant was revoked.
        new
        ["* ada"]
        [ada: signed in]

        """)
  }
}
