import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Accounts of several machines in one store.
@Suite(.onOwnThread) struct `accounts in a database` {
  private struct Token: Codable, Equatable, ExpiringItem {
    var number = 0
    var expirationDate: Date?
  }

  private func accounts(_ store: SealedDatabaseStore) throws -> UserAccounts<Token> {
    try UserAccounts(
      container: StoreContainer<Token>(store, service: "mail"),
      refresher: SessionRefresher { _ in
        .rejected(StoreError(.io, store: "server", reason: "the grant was revoked"))
      })
  }

  @Test func `are signed in in parts, however many they are`() async throws {
    let made = try await StoreOnServer()
    let logged = try await LoggedStore(made)
    let users = try Dictionary(
      uniqueKeysWithValues: (0..<1200).map {
        (try AccountIdentifier("user \($0)"), Token(number: $0))
      })
    try await accounts(logged.store).signIn(users)
    #expect(try await logged.sent().count { $0 == "write" } == 3)
    let others = try accounts(made.store)
    #expect(try await others.all() == users.keys.sorted())
    #expect(try await others.currentStates().allSatisfy { $0.status == .signedIn })
    let some = try AccountIdentifier("user 777")
    #expect(try await others.session(of: some).item()?.number == 777)
  }

  @Test func `are listed by another object after a rejection, with the reason`() async throws {
    let made = try await StoreOnServer()
    let (accounts, others) = (try accounts(made.store), try accounts(made.reopened()))
    var states = others.states.makeAsyncIterator()
    #expect(await states.next() == [])
    let ada = try AccountIdentifier("ada")
    try await accounts.signIn(Token(expirationDate: .distantPast), as: ada)
    let error = await #expect(throws: SessionError.self) {
      try await accounts.session(of: ada).validItem()
    }
    #expect(error?.code == .rejected)
    var seen = await states.next()
    // It may be faster than the other object's poll.
    if seen?.first?.status == .signedIn { seen = await states.next() }
    #expect(
      seen?.map { "\($0)" } == ["ada: signed out by the server: server: the grant was revoked."])
    guard case .signedOut(.rejected(let cause)) = await others.session(of: ada).currentState()
    else {
      Issue.record("it is not rejected")
      return
    }
    #expect(cause is StoreError || cause is RecordedRejection)
    try await others.session(of: ada).signIn(Token())
    #expect(try await accounts.currentStates().map(\.status) == [.signedIn])
    try await accounts.session(of: ada).signOut()
    #expect(try await others.all().isEmpty)
  }

  /// In the same statement it is checked that there still is no record of a rejection.
  @Test func `are signed in and out again in one round trip`() async throws {
    let made = try await StoreOnServer()
    let logged = try await LoggedStore(made)
    let ada = try AccountIdentifier("ada")
    let session = try accounts(logged.store).session(of: ada)
    try await session.signIn(Token())
    #expect(try await logged.sent() == ["look", "write"])
    try await session.signIn(Token(number: 1))
    #expect(try await logged.sent() == ["write"])
    try await session.update(Token(number: 2))
    #expect(try await logged.sent().last == "write")
    // Another object puts a record beside the item, as after a rejection and a sign-in that a store
    // that is not atomic made in part.
    let record = try ItemName("account/ada/user/rejected", in: "mail")
    try await made.store.put("{}", for: record)
    try await session.signIn(Token(number: 3))
    #expect(try await made.store.value(for: record) == nil)
    #expect(try await session.item()?.number == 3)
  }
}
