import Foundation
import SessionToolsBase

/// Signs a user in and refreshes the item, with a line before and after each, for who counts the
/// system calls between them.
func takeTheRoad() async throws {
  struct Token: Codable, ExpiringItem, Sendable {
    var number = 0
    var expirationDate: Date? = .distantPast
  }
  let session = UserSession(
    container: try StoreContainer<Token>(store, service: "worker"), storageIdentifier: "road",
    notificationPoster: nil,
    refresher: SessionRefresher { request in
      .refreshed(Token(number: request.item.number + 1, expirationDate: .distantFuture))
    })
  // The first writer also looks after what others have left.
  try await session.logIn(Token())
  say("signs in")
  try session.didLogIn(Token(number: 1))
  say("signed in")
  let token = try await session.validItem()
  say("refreshed")
  guard token.number == 2 else { fail("the item was not refreshed") }
}
