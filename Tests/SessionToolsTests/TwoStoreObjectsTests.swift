import Foundation
import SessionTools
import SessionToolsTesting
import SessionToolsTestSupport
import Testing

private struct Token: Codable, ExpiringItem, Sendable {
  var number = 0
  var expirationDate: Date?

  static let expired = Token(expirationDate: .distantPast)
}

/// As in two parts of a program, or in two processes.
@Suite struct `two objects of one store` {
  private let directory: TemporaryDirectory
  private let stores: [SealedFileStore]

  init() throws {
    directory = try TemporaryDirectory()
    let key = try KeyFile.create(at: directory["key"])
    stores = [
      try SealedFileStore.create(at: directory["store"], key: key),
      try SealedFileStore.open(at: directory["store"], key: key),
    ]
  }

  @Test func `a session gets no item from a refresh if its own store object is locked`()
    async throws
  {
    let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    let (openings, opened) = AsyncStream.makeStream(of: Void.self)
    let clocks = [ManualClock(), ManualClock()]
    let sessions = try zip(stores, clocks).map { store, clock in
      UserSession(
        container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "token",
        refresher: SessionRefresher(clock: clock) { request in
          arrived.yield()
          for await _ in openings {}
          return .refreshed(Token(number: request.item.number + 1))
        })
    }
    try sessions[0].didLogIn(.expired)
    let refreshing = Task { try await sessions[0].validItem().number }
    for await _ in arrivals { break }
    let waiting = Task { try await sessions[1].validItem().number }
    await clocks[1].waitForSleepers(count: 1)
    stores[1].lock()
    opened.finish()
    #expect(try await refreshing.value == 1)
    let error = await #expect(throws: StoreError.self) { try await waiting.value }
    #expect(error?.code == .locked)
  }

  /// As of a backup that is opened beside the original: it has its identity, and other users.
  @Test(arguments: [true, false])
  func `a session on a copy takes no part in the original's refresh`(_ isRejected: Bool)
    async throws
  {
    func session(
      _ store: SealedFileStore, _ refresh: @escaping @Sendable () async -> Bool
    ) throws -> UserSession<Token> {
      UserSession(
        container: try StoreContainer<Token>(store, service: "mail"), storageIdentifier: "token",
        refresher: SessionRefresher { request in
          await refresh()
            ? .rejected(StoreError(.io, store: "server", reason: "refused"))
            : .refreshed(Token(number: request.item.number + 1))
        })
    }
    let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
    let (openings, opened) = AsyncStream.makeStream(of: Void.self)
    let original = try session(stores[0]) {
      arrived.yield()
      for await _ in openings {}
      return isRejected
    }
    try original.didLogIn(.expired)
    try FileManager.default.copyItem(atPath: directory["store"], toPath: directory["copy"])
    let key = KeyFile(directory["key"])
    let copy = try session(SealedFileStore.open(at: directory["copy"], key: key)) { false }
    try copy.didLogIn(Token(number: 100, expirationDate: .distantPast))
    let refreshing = Task { try await original.validItem().number }
    for await _ in arrivals { break }
    #expect(try await copy.validItem().number == 101)
    opened.finish()
    let result = await refreshing.result
    #expect((try? result.get()) == (isRejected ? nil : 1))
    #expect(copy.currentUser?.number == 101)
  }

  @Test func `of two concurrent sign-ins of many users through both, one wins as a whole`()
    async throws
  {
    let accounts = try stores.map {
      try UserAccounts(container: StoreContainer<String>($0, service: "mail"))
    }
    let names = try (0..<200).map { try AccountIdentifier("user \($0)") }
    for round in 0..<10 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, accounts) in accounts.enumerated() {
          group.addTask {
            let users = names.shuffled().map { ($0, "\(round) of \(number)") }
            try await accounts.signIn(Dictionary(uniqueKeysWithValues: users))
          }
        }
        try await group.waitForAll()
      }
      let stored = Set(names.map { accounts[0].session(of: $0).currentUser })
      #expect(stored == ["\(round) of 0"] || stored == ["\(round) of 1"])
    }
    #expect(try await accounts[1].all() == names.sorted())
  }
}
