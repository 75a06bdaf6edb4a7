import Foundation
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import Testing

/// What the store has while a token is under way, and what happens after a kill.
@Suite(.timeLimit(.minutes(20))) struct `a token that was sent` {
  let server = TokenServer()
  let store = MemoryStore()

  /// Puts the store into the state in which a process leaves it that is killed during a refresh.
  private func killInRefresh() async throws {
    let killed = try server.session(store)
    try killed.didLogIn(server.token(in: .zero))
    let (server, store) = (server, store)
    let copy = Shared<[ItemName: SecretBytes]>([:])
    server.next { request in
      for name in try await store.names(in: nil) {
        let value = try await store.value(for: name)
        copy.update { $0[name] = value }
      }
      return .refreshed(server.renewed(request.item))
    }
    _ = try await killed.validItem()
    for name in try await store.names(in: nil) { try await store.remove(name) }
    for (name, value) in copy.current { try await store.put(value, for: name) }
  }

  @Test func `nothing is stored for it before it is sent`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    let (count, store) = (Shared(0), store)
    server.next { [server] request in
      let names = try await store.names(in: nil)
      count.update { $0 = names.count }
      return .refreshed(server.renewed(request.item))
    }
    _ = try await session.validItem()
    #expect(count.current == 1)
  }

  @Test func `after a kill it is sent once more`() async throws {
    try await killInRefresh()
    let session = try server.session(store)
    _ = try await session.validItem()
    _ = try await session.validItem(.always)
    #expect(server.requests.map(\.item.number) == [0, 0, 1])
  }

  @Test func `after a kill a rejection is final`() async throws {
    try await killInRefresh()
    let session = try server.session(store)
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await session.validItem() }
    #expect(try await store.names(in: nil).isEmpty)
  }

  @Test func `a user who signs out during the refresh leaves nothing`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    server.next { [server] request in
      try session.didLogOut()
      return .refreshed(server.renewed(request.item))
    }
    await expectFailure(SessionError.notSignedIn) { try await session.validItem() }
    #expect(try await store.names(in: nil).isEmpty)
  }

  @Test func `an item with the longest name is refreshed`() async throws {
    let session = UserSession(
      container: try StoreContainer<Token>(store, service: "mail"),
      storageIdentifier: String(repeating: "x", count: 4096), refresher: server.refresher())
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
  }

  @Test func `a program that holds the item's name gets a valid item`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    let name = try #require(try await store.names(in: nil).first)
    let number = try await store.withExclusiveAccess(to: name, timeout: .seconds(1)) {
      try await session.validItem().number
    }
    #expect(number == 1)
  }
}
