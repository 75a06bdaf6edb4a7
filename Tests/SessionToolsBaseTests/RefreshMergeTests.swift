import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

/// Tests of items that hold more than tokens, and are changed while their tokens are refreshed.
@Suite(.timeLimit(.minutes(20))) struct `the merge of a refresh` {
  let clock = ManualClock()
  let store = MemoryStore()

  private struct Profile: Codable, Equatable, Identifiable, Sendable {
    var id = "ada"
    var token = 0
    var picture = "old"
  }

  /// Returns a session of profiles, of which those with the first token have expired.
  private func profiles(
    in store: some SecretStore,
    refresh: @escaping @Sendable (Profile) async throws -> Void
  ) throws -> UserSession<Profile> {
    let clock = clock
    let refresher = SessionRefresher<Profile>(
      clock: clock, expiration: { clock.now + ($0.token == 0 ? -1 : 3600) },
      merge: { sent, refreshed, stored in
        guard stored.token == sent.token else { return nil }
        var both = stored
        both.token = refreshed.token
        return both
      }
    ) { request in
      try await refresh(request.item)
      return .refreshed(Profile(token: request.item.token + 1))
    }
    return UserSession(
      container: try StoreContainer<Profile>(store, service: "mail"), storageIdentifier: "profile",
      notificationPoster: nil, refresher: refresher)
  }

  /// The server grants less time than before.
  @Test func `a change is merged though the new item expires before the old one`() async throws {
    let clock = clock
    let container = try StoreContainer<Profile>(store, service: "mail")
    let program = Session(container: container, storageIdentifier: "profile")
    let requestCount = Shared(0)
    let session = Session(
      container: container, storageIdentifier: "profile",
      refresher: SessionRefresher<Profile>(
        clock: clock, expiration: { clock.now + ($0.token == 0 ? 50 : 40) },
        merge: { _, refreshed, stored in
          var both = stored
          both.token = refreshed.token
          return both
        }
      ) { request in
        requestCount.update { $0 += 1 }
        try await program.save(Profile(picture: "new"))
        return .refreshed(Profile(token: 1))
      })
    try await session.save(Profile())
    #expect(try await session.validItem() == Profile(token: 1, picture: "new"))
    #expect(requestCount.current == 1)
  }

  @Test func `a change during a refresh is merged with the refreshed item`() async throws {
    let held = Shared<UserSession<Profile>?>(nil)
    let session = try profiles(in: store) { item in
      try held.current?.didUpdate(Profile(picture: "new"))
    }
    held.update { $0 = session }
    try session.didLogIn(Profile())
    #expect(try await session.validItem() == Profile(token: 1, picture: "new"))
    #expect(session.currentUser == Profile(token: 1, picture: "new"))
    held.update { $0 = nil }
  }

  /// Each of the calls fails that store the refreshed item, one at a time.
  @Test func `a change during a refresh is merged later if the store fails`() async throws {
    for number in 0..<6 {
      let store = FaultyStore(MemoryStore())
      let held = Shared<UserSession<Profile>?>(nil)
      let requests = Shared(0)
      let session = try profiles(in: store) { item in
        requests.update { $0 += 1 }
        try held.current?.didUpdate(Profile(picture: "new"))
        store.inject(.failing(StoreError.locked), after: number)
      }
      held.update { $0 = session }
      try session.didLogIn(Profile())
      _ = try? await session.validItem()
      store.removeFaults()
      #expect(try await session.validItem() == Profile(token: 1, picture: "new"), "\(number)")
      #expect(requests.current == 1)
      held.update { $0 = nil }
    }
  }

  @Test func `a refreshed item that could not be stored is merged with a later change`()
    async throws
  {
    let store = FaultyStore(MemoryStore())
    let requests = Shared(0)
    let session = try profiles(in: store) { _ in requests.update { $0 += 1 } }
    try session.didLogIn(Profile())
    store.inject(.failing(StoreError.locked), into: [.apply])
    await #expect(throws: StoreError.self) { try await session.validItem() }
    try session.didUpdate(Profile(picture: "new"))
    #expect(try await session.validItem() == Profile(token: 1, picture: "new"))
    #expect(requests.current == 1)
  }

  private final class Secret: Codable, Sendable {}

  private struct Account: Codable, Identifiable, Sendable {
    var id = "ada"
    var isNew = false
    var secret = Secret()
  }

  enum Use: CaseIterable, Sendable {
    case read, refresh, signOut
  }

  @Test(arguments: Use.allCases)
  func `what could not be stored is discarded when the user was signed out elsewhere`(
    before use: Use
  ) async throws {
    let faulty = FaultyStore(store)
    let clock = clock
    let secret = Shared(WeakSecret())
    let session = UserSession<Account>(
      container: try StoreContainer<Account>(faulty, service: "mail"),
      storageIdentifier: "account", notificationPoster: nil,
      refresher: SessionRefresher(
        clock: clock, expiration: { clock.now.addingTimeInterval($0.isNew ? 3600 : -1) }
      ) { _ in
        let account = Account(isNew: true)
        secret.update { $0.value = account.secret }
        return .refreshed(account)
      })
    try session.didLogIn(Account())
    faulty.inject(.failing(StoreError.locked), into: [.apply])
    await #expect(throws: StoreError.self) { try await session.validItem() }
    #expect(secret.current.value != nil)
    faulty.removeFaults()
    try await store.apply(store.names(in: nil).map { .remove($0) })
    switch use {
    case .read:
      await #expect(throws: SessionError.self) { try await session.validItem() }
    case .refresh:
      await #expect(throws: SessionError.self) { try await session.validItem(.always) }
    case .signOut: try await session.remove()
    }
    #expect(secret.current.value == nil)
  }

  private struct WeakSecret: @unchecked Sendable {
    weak var value: Secret?
  }

  /// Another process has sent the same token meanwhile, which the server forgave.
  @Test func `an item that was issued later is not merged with one that is spent`() async throws {
    struct Ticket: Codable, ExpiringItem, Equatable, Sendable {
      var number = 0
      var expirationDate: Date?
    }
    let (store, clock) = (FaultyStore(MemoryStore()), clock)
    let refresher = SessionRefresher<Ticket>(
      clock: clock,
      merge: { _, refreshed, _ in refreshed }
    ) { request in
      .refreshed(Ticket(number: request.item.number + 1, expirationDate: clock.now + 3600))
    }
    let container = try StoreContainer<Ticket>(store, service: "mail")
    let session = UserSession(
      container: container, storageIdentifier: "ticket", refresher: refresher)
    try session.didLogIn(Ticket(expirationDate: clock.now))
    store.inject(.failing(StoreError.locked), into: [.apply])
    await expectFailure(StoreError.locked) { try await session.validItem() }
    try container.storeItem(
      Ticket(number: 50, expirationDate: clock.now + 3700), forIdentifier: "ticket")
    #expect(try await session.validItem(.always).number == 51, "the later one was sent")
  }
}
