import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import Testing

/// Sessions of several machines on one store.
@Suite struct `a session in a database` {
  private struct Token: Codable, Equatable, ExpiringItem {
    var number: Int
    var expirationDate: Date?
  }

  @Test func `is refreshed once by all objects that ask at the same time`() async throws {
    let made = try await StoreOnServer()
    let stores = [made.store] + (try (0..<3).map { _ in try made.reopened() })
    let sent = Mutex<[Int]>([])
    let sessions = try stores.map { store in
      UserSession(
        container: AnySessionContainer(try StoreContainer<Token>(store, service: "mail")),
        storageIdentifier: "token", notificationPoster: nil,
        refresher: SessionRefresher { request in
          sent.withLock { $0.append(request.item.number) }
          return .refreshed(Token(number: request.item.number + 1))
        })
    }
    try sessions[0].didLogIn(Token(number: 1, expirationDate: .distantPast))
    let numbers = try await withThrowingTaskGroup(of: Int.self) { group in
      for session in sessions {
        for _ in 0..<4 { group.addTask { try await session.validItem().number } }
      }
      return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(numbers == [2])
    #expect(sent.withLock { $0 } == [1])
    try sessions[3].didLogOut()
    try await wait(until: "all are signed out") {
      for session in sessions where try await session.item() != nil { return false }
      return true
    }
  }

  /// As in a file store.
  @Test func `has its item repaired by an old handler when it does not open`() async throws {
    let made = try await StoreOnServer()
    let session = UserSession(
      container: AnySessionContainer(try StoreContainer<Token>(made.store, service: "mail")),
      storageIdentifier: "token", notificationPoster: nil)
    session.refreshHandler = { [weak session] completion in
      do {
        try session?.updateItem(Token(number: 2))
        completion(nil)
      } catch {
        completion(.unableToRefresh(error: error))
      }
    }
    try session.didLogIn(Token(number: 1))
    try await made.ask("UPDATE $.item SET value = substring(value FROM 2)")
    let error = await #expect(throws: StoreError.self) { try await session.item() }
    #expect(error?.code == .corrupt)
    try await session.refreshNow()
    #expect(try await session.item() == Token(number: 2))
  }

  /// Another machine may take the access when it was not renewed, and sends the same token.
  @Test func `asks its handler to end when the exclusive access cannot be renewed`() async throws {
    let made = try await StoreOnServer()
    let server = try await DatabaseServer.shared()
    let proxy = try FaultProxy(to: server.port)
    var location = made.location
    location.address = server.address(port: proxy.port, "sslmode=disable")
    location.options.operationTimeout = .seconds(32)
    var environment = DatabaseEnvironment()
    environment.leaseDuration = .seconds(12)
    let handlerTime = Mutex<Duration?>(nil)
    let store = try location.reopened(environment: environment)
    let other = try ItemName("other", in: StoreNamespace(service: "mail"))
    let session = UserSession(
      container: AnySessionContainer(try StoreContainer<Token>(store, service: "mail")),
      storageIdentifier: "token", notificationPoster: nil,
      refresher: SessionRefresher { request in
        proxy.isSilent = true
        // They want all threads for reads until long after the access has ended.
        for _ in 0..<200 { Task { try await store.asyncValue(for: other) } }
        let begin = ContinuousClock.now
        defer { handlerTime.withLock { $0 = .now - begin } }
        try await Task.sleep(for: .seconds(600))
        return .refreshed(Token(number: request.item.number + 1))
      })
    try session.didLogIn(Token(number: 1, expirationDate: .distantPast))
    await #expect(throws: (any Error).self) { try await session.validItem() }
    let time = try #require(handlerTime.withLock { $0 })
    #expect(time < environment.leaseDuration)
  }
}
