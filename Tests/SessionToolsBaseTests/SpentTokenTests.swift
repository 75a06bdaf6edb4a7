import Dispatch
import Foundation
import SessionToolsBase
import SessionToolsTesting
import TestStores
import Testing

/// The record of a token that may have been spent.
@Suite(.timeLimit(.minutes(20))) struct `a token that may be spent` {
  let server = TokenServer()
  let store = MemoryStore()

  private var mark: StoreKey? {
    store.keys(in: nil).first { $0.identifier.hasPrefix("org.session-tools.refresh:") }
  }

  /// Puts the store into the state in which a process leaves it that is killed during a refresh.
  private func killInRefresh() async throws {
    let killed = try server.session(store)
    try killed.didLogIn(server.token(in: .zero))
    let (server, store) = (server, store)
    let copy = Shared<[StoreKey: SecretBytes]>([:])
    server.next { request in
      for key in try await store.keys(in: nil) {
        let value = try await store.value(for: key)
        copy.update { $0[key] = value }
      }
      return .refreshed(server.renewed(request.item))
    }
    _ = try await killed.validItem()
    for key in try await store.keys(in: nil) { try await store.remove(key) }
    for (key, value) in copy.current { try await store.put(value, for: key) }
  }

  @Test func `it is on record before a handler is called, and not afterwards`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    let (wasMarked, store) = (Shared(false), store)
    server.next { [server] request in
      let isMarked = try await store.keys(in: nil).count == 2
      wasMarked.update { $0 = isMarked }
      return .refreshed(server.renewed(request.item))
    }
    _ = try await session.validItem()
    #expect(wasMarked.current)
    #expect(server.requests.map(\.mayBeSpent) == [false])
    #expect(mark == nil)
  }

  @Test func `after a kill the next handler is told of it once`() async throws {
    try await killInRefresh()
    let session = try server.session(store)
    _ = try await session.validItem()
    _ = try await session.validItem(.always)
    #expect(server.requests.map(\.mayBeSpent) == [false, true, false])
    #expect(server.requests.map(\.item.number) == [0, 0, 1])
    #expect(mark == nil)
  }

  @Test func `after a kill a rejection is final`() async throws {
    try await killInRefresh()
    let session = try server.session(store)
    server.next { _ in .rejected(TestError()) }
    await expectFailure(SessionError.rejected) { try await session.validItem() }
    #expect(server.requests.map(\.mayBeSpent) == [false, true])
    #expect(try await store.keys(in: nil).isEmpty)
  }

  @Test func `a user who signs in after a kill has a fresh token`() async throws {
    try await killInRefresh()
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero, number: 20))
    _ = try await session.validItem()
    #expect(server.requests.map(\.mayBeSpent) == [false, false])
    #expect(mark == nil)
  }

  @Test func `the record of a token outlives a change of the item`() async throws {
    try await killInRefresh()
    let session = try server.session(store)
    try session.didUpdate(Token(number: 0, expirationDate: server.clock.now - 1))
    _ = try await session.validItem()
    #expect(server.requests.map(\.mayBeSpent) == [false, true])
  }

  @Test func `a user who signs out leaves no record, whatever was under way`() async throws {
    try await killInRefresh()
    try server.session(store).didLogOut()
    #expect(try await store.keys(in: nil).isEmpty)
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .zero))
    server.next { [server] request in
      try session.didLogOut()
      return .refreshed(server.renewed(request.item))
    }
    await expectFailure(SessionError.notSignedIn) { try await session.validItem() }
    #expect(try await store.keys(in: nil).isEmpty)
  }

  @Test func `a failure leaves the record, unless nothing was sent`() async throws {
    let session = try server.session(store)
    try session.didLogIn(server.token(in: .seconds(30)))
    server.next { _ in .transientFailure(TestError(), wasSent: false) }
    _ = try await session.validItem()
    #expect(mark == nil)
    server.clock.advance(by: .seconds(1))
    server.next { _ in .transientFailure(TestError()) }
    _ = try await session.validItem()
    #expect(mark != nil)
    server.clock.advance(by: .seconds(2))
    // Nothing was sent this time, but something may have been before.
    server.next { _ in .transientFailure(TestError(), wasSent: false) }
    _ = try await session.validItem()
    #expect(mark != nil)
    server.clock.advance(by: .seconds(3))
    _ = try await session.validItem()
    #expect(server.requests.map(\.mayBeSpent) == [false, false, true, true])
    #expect(mark == nil)
  }

  @Test(arguments: [true, false])
  func `a sign-in keeps the record of the new user's token`(isBlocking: Bool) async throws {
    let marked = MarkingStore()
    let session = try server.session(marked)
    try await session.logIn(server.token(in: .zero))
    let mark = try StoreKey("org.session-tools.refresh:token", in: "mail")
    // As another process does that refreshes the new token as soon as it is stored.
    marked.mark.update { $0 = mark }
    if isBlocking {
      try session.didLogIn(server.token(in: .zero, number: 20))
    } else {
      try await session.logIn(server.token(in: .zero, number: 20))
    }
    #expect(try await marked.contains(mark))
    #expect(marked.changeCounts.current.first == 2, "the user, and the old record")
  }

  @Test func `a record contains nothing of the token`() async throws {
    try await killInRefresh()
    let markKey = try #require(mark)
    #expect(try await store.value(for: markKey) == SecretBytes(utf8: "1"))
  }

  @Test func `a record of an item with the longest name has a valid name`() async throws {
    let session = UserSession(
      container: try StoreContainer<Token>(store, service: "mail"),
      storageIdentifier: String(repeating: "x", count: 4096), refresher: server.refresher())
    try session.didLogIn(server.token(in: .zero))
    #expect(try await session.validItem().number == 1)
  }

  @Test func `records of different items do not collide`() async throws {
    let names = [("a", "bc"), ("ab", "c"), ("a", "b"), ("a b", "c")]
    for (service, identifier) in names {
      let session = UserSession(
        container: try StoreContainer<Token>(store, service: service),
        storageIdentifier: identifier, refresher: server.refresher())
      try session.didLogIn(server.token(in: .seconds(30)))
      server.failNext()
      _ = try await session.validItem()
    }
    #expect(try await store.keys(in: nil).count == 2 * names.count)
  }
}

/// A store on which another process puts a record as soon as something is stored.
private final class MarkingStore: BlockingSecretStore, ForwardingStore {
  let queue = DispatchQueue(label: "marking")
  let base = MemoryStore()
  /// The record that is put once.
  let mark = Shared<StoreKey?>(nil)
  /// The numbers of changes in each list.
  let changeCounts = Shared<[Int]>([])

  func value(for key: StoreKey) -> SecretBytes? { base.value(for: key) }
  func keys(in namespace: StoreNamespace?) -> [StoreKey] { base.keys(in: namespace) }

  func apply(_ changes: [StoreChange]) {
    base.apply(changes)
    changeCounts.update { $0.append(changes.count) }
    if let key = mark.update({ mark in
      defer { mark = nil }
      return mark
    }) {
      base.apply([.put(SecretBytes(utf8: "1"), for: key)])
    }
  }
}
