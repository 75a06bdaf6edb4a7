import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

/// When an item is refreshed, by the dates that it has.
@Suite(.timeLimit(.minutes(20))) struct ItemDatesTests {
  let clock: ManualClock
  let server: TokenServer
  let store = MemoryStore()
  let session: UserSession<Token>

  init() throws {
    clock = ManualClock()
    server = TokenServer(clock)
    session = try server.session(store)
  }

  @Test func `items that last shorter than the leeway are refreshed at half of their time`()
    async throws
  {
    server.lifetime = .seconds(30)
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
    clock.advance(by: .seconds(14))
    #expect(try await session.validItem().number == 1)
    clock.advance(by: .seconds(1))
    #expect(try await session.validItem().number == 2)
  }

  /// Each session acts for another process, which knows only the stored item.
  @Test func `a short-lived item with an issue date is refreshed once by all processes`()
    async throws
  {
    struct Dated: Codable, ExpiringItem, Sendable {
      let number: Int
      let issueDate: Date?
      let expirationDate: Date?
    }
    let (clock, store, refreshCount) = (clock, store, Shared(0))
    func session() throws -> UserSession<Dated> {
      UserSession(
        container: try StoreContainer<Dated>(store, service: "mail"), storageIdentifier: "dated",
        refresher: SessionRefresher(clock: clock) { request in
          refreshCount.update { $0 += 1 }
          return .refreshed(
            Dated(
              number: request.item.number + 1, issueDate: clock.now, expirationDate: clock.now + 30)
          )
        })
    }
    try session().didLogIn(Dated(number: 0, issueDate: nil, expirationDate: clock.now))
    for _ in 0..<6 { #expect(try await session().validItem().number == 1) }
    clock.advance(by: .seconds(14))
    #expect(try await session().validItem().number == 1)
    clock.advance(by: .seconds(1))
    for _ in 0..<6 { #expect(try await session().validItem().number == 2) }
    #expect(refreshCount.current == 2)
  }

  @Test func `an item whose dates are stored without fractions is the same item`() async throws {
    server.lifetime = .seconds(30)
    clock.advance(by: .milliseconds(300))
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    let session = UserSession<Token>(
      container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "other",
      refresher: server.refresher(), itemEncoder: encoder, itemDecoder: decoder)
    try session.didLogIn(server.token(in: .zero))
    for _ in 0..<3 { #expect(try await session.validItem().number == 1) }
  }
}
