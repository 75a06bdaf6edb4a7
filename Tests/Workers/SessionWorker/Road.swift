import Foundation
import SessionToolsBase

/// Signs a user in and refreshes the item, with a line before and after each, for who counts the
/// system calls between them.
func takeTheRoad() async throws {
  struct Token: Codable, ExpiringItem, Sendable {
    var number = 0
    var expirationDate: Date? = .distantPast
  }
  let account = arguments.count > 4 ? try AccountIdentifier(argument(4)) : nil
  let session = UserSession(
    container: StoreContainer<Token>(
      store, namespace: try StoreNamespace(service: "worker"), account: account),
    storageIdentifier: "road", notificationPoster: nil,
    refresher: SessionRefresher { request in
      .refreshed(Token(number: request.item.number + 1, expirationDate: .distantFuture))
    })
  // The first writer also looks after what others have left.
  try await session.signIn(Token())
  say("signs in")
  try session.didLogIn(Token(number: 1))
  say("signed in")
  let token = try await session.validItem()
  say("refreshed")
  guard token.number == 2 else { fail("the item was not refreshed") }
}

/// Signs a user in to an account, whose refresh the server then permanently rejects.
func signInToBeRejected(as account: AccountIdentifier) async throws {
  struct Token: Codable, ExpiringItem, Sendable {
    var expirationDate: Date? = .distantPast
  }
  let accounts = try UserAccounts(
    container: StoreContainer<Token>(store, service: "worker"),
    refresher: SessionRefresher { _ in
      .rejected(StoreError(.io, store: "server", reason: "the grant was revoked"))
    })
  try await accounts.signIn(Token(), as: account)
  do {
    _ = try await accounts.session(of: account).validItem()
  } catch SessionError.rejected {
    say("rejected")
  }
}
