import Foundation
import SessionToolsBase
import SessionToolsTesting
import Testing

/// An account with more than its tokens.
private struct Account: Codable, Equatable, ExpiringItem, Identifiable, Sendable {
  var token: Token
  var name: String?
  var settings = ["theme": 0.1]
  /// Encoded in another order each time.
  var scopes: Set<String> = ["mail", "calendar", "contacts", "files"]
  /// More digits than a double has.
  var number: Int64 = 9_007_199_254_740_993
  /// A missing one is encoded as `null`.
  var marks: [Int?] = [1, nil]
  var levels = [1, 2]
  var isVerified = false
  var isPaid = false
  /// More than a decimal number can be.
  var low = 1e300
  var high = 1e300
  var id: String { token.id }
  var expirationDate: Date? { token.expirationDate }
}

/// What a program changes while a refresh is under way.
@Suite struct FieldMergeTests {
  private let server = TokenServer()
  private let container: StoreContainer<Account>

  init() throws {
    container = try StoreContainer<Account>(MemoryStore(), service: "mail")
  }

  /// Refreshes the account; both sides change it.
  private func refreshed(
    _ change: @escaping @Sendable (inout Account) -> Void,
    refresh: @escaping @Sendable (inout Account) -> Void = { _ in }
  ) async throws -> (account: Account, requestCount: Int) {
    let (server, requestCount) = (server, Shared(0))
    let program = Session(container: container, storageIdentifier: "account")
    let session = Session(
      container: container, storageIdentifier: "account",
      refresher: SessionRefresher(clock: server.clock) { request in
        let isFirst = requestCount.update { count in
          count += 1
          return count == 1
        }
        if isFirst {
          var changed = request.item
          change(&changed)
          try await program.save(changed)
        }
        var renewed = request.item
        renewed.token = server.renewed(renewed.token)
        refresh(&renewed)
        return .refreshed(renewed)
      })
    try await session.save(Account(token: server.token(in: .zero), name: "Ada"))
    let account = try await session.validItem()
    #expect(try await session.item() == account)
    return (account, requestCount.current)
  }

  @Test func `its other fields and the new tokens are both kept`() async throws {
    let (account, requestCount) = try await refreshed {
      $0.name = nil
      $0.settings["theme"] = 0.3
      $0.isVerified = true
      $0.marks = [nil, 2]
      $0.low = 1e299
    } refresh: {
      $0.settings["size"] = 1e-9
      $0.isPaid = true
      $0.levels = [1, 3]
      $0.high = 1e301
    }
    #expect(requestCount == 1)
    #expect(server.spent == [0])
    #expect(account.token.number == 1)
    #expect(account.name == nil)
    #expect(account.settings == ["theme": 0.3, "size": 1e-9])
    #expect(account.number == 9_007_199_254_740_993)
    #expect(account.isVerified && account.isPaid)
    #expect(account.marks == [nil, 2] && account.levels == [1, 3])
    #expect(account.low == 1e299 && account.high == 1e301)
  }

  @Test func `a refresh that changed nothing is made again`() async throws {
    let program = Session(container: container, storageIdentifier: "account")
    let requestCount = Shared(0)
    let session = Session(
      container: container, storageIdentifier: "account",
      refresher: SessionRefresher(clock: server.clock) { [server] request in
        requestCount.update { $0 += 1 }
        guard requestCount.current > 1 else {
          var changed = request.item
          changed.name = "Ada Lovelace"
          try await program.save(changed)
          return .refreshed(request.item)
        }
        var renewed = request.item
        renewed.token = server.renewed(renewed.token)
        return .refreshed(renewed)
      })
    try await session.save(Account(token: server.token(in: .zero), name: "Ada"))
    let account = try await session.validItem()
    #expect(account.token.number == 1 && account.name == "Ada Lovelace")
    #expect(requestCount.current == 2)
  }

  /// The two fields together are no item: decoding drops one of them.
  @Test func `fields that cannot be together are not merged`() async throws {
    struct Choice: Codable, Equatable, Identifiable, Sendable {
      var id = "ada"
      var token = 0
      var first: Int?
      var second: Int?

      init() {}

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        token = try container.decode(Int.self, forKey: .token)
        first = try container.decodeIfPresent(Int.self, forKey: .first)
        second = first == nil ? try container.decodeIfPresent(Int.self, forKey: .second) : nil
      }
    }
    let (clock, requestCount) = (server.clock, Shared(0))
    let container = try StoreContainer<Choice>(MemoryStore(), service: "mail")
    let program = Session(container: container, storageIdentifier: "choice")
    let session = Session(
      container: container, storageIdentifier: "choice",
      refresher: SessionRefresher(clock: clock, expiration: { $0.token == 0 ? clock.now : nil }) {
        request in
        requestCount.update { $0 += 1 }
        var (changed, renewed) = (request.item, request.item)
        renewed.token = 1
        if request.item.first == nil {
          changed.first = 1
          renewed.second = 2
          try await program.save(changed)
        }
        return .refreshed(renewed)
      })
    try await session.save(Choice())
    let choice = try await session.validItem()
    #expect(choice.first == 1 && choice.second == nil && choice.token == 1)
    #expect(requestCount.current == 2)
  }

  @Test func `a field that both change in the same way is no conflict`() async throws {
    let (account, requestCount) = try await refreshed {
      $0.name = "Ada Lovelace"
      $0.settings["theme"] = 1
    } refresh: {
      $0.name = "Ada Lovelace"
    }
    #expect(requestCount == 1)
    #expect(account.name == "Ada Lovelace")
    #expect(account.settings == ["theme": 1])
  }

  @Test func `a set that was made again has not changed`() async throws {
    for _ in 0..<20 {
      let (account, requestCount) = try await refreshed {
        $0.scopes = Set($0.scopes.sorted())
        $0.name = "Ada Lovelace"
      } refresh: {
        $0.scopes = Set($0.scopes.sorted().reversed())
      }
      #expect(requestCount == 1)
      #expect(account.scopes == ["mail", "calendar", "contacts", "files"])
    }
  }

  /// Nothing shows that the one who signed in meanwhile is the same user.
  @Test func `an item without an identifier stays as the program has it`() async throws {
    let clock = ManualClock()
    let credentials = try StoreContainer<[String: String]>(MemoryStore(), service: "mail")
    let program = Session(container: credentials, storageIdentifier: "credential")
    let session = Session(
      container: credentials, storageIdentifier: "credential",
      refresher: SessionRefresher(
        clock: clock, expiration: { $0["access"] == "" ? clock.now : nil }
      ) { request in
        if request.item["refresh"] == "of Ada" {
          try await program.save(["access": "", "refresh": "of Bob"])
        }
        var renewed = request.item
        renewed["access"] = "with the token \(request.item["refresh"] ?? "")"
        return .refreshed(renewed)
      })
    try await session.save(["access": "", "refresh": "of Ada"])
    let valid = try await session.validItem()
    #expect(valid == ["access": "with the token of Bob", "refresh": "of Bob"])
  }

  /// What its coding leaves out of the JSON would be lost.
  @Test func `an item that is not stored as JSON stays as the program has it`() async throws {
    let (server, requestCount) = (server, Shared(0))
    let container = try StoreContainer<Account>(
      MemoryStore(), service: "mail", coding: .propertyList)
    let program = Session(container: container, storageIdentifier: "account")
    let session = Session(
      container: container, storageIdentifier: "account",
      refresher: SessionRefresher(clock: server.clock) { request in
        requestCount.update { $0 += 1 }
        var (changed, renewed) = (request.item, request.item)
        changed.name = "Ada Lovelace"
        if requestCount.current == 1 { try await program.save(changed) }
        renewed.token = server.renewed(renewed.token)
        return .refreshed(renewed)
      })
    try await session.save(Account(token: server.token(in: .zero), name: "Ada"))
    #expect(try await session.validItem().name == "Ada Lovelace")
    #expect(requestCount.current == 2)
  }

  @Test func `a field that both change stays as the program has it`() async throws {
    let (account, requestCount) = try await refreshed {
      $0.name = "Ada Lovelace"
    } refresh: {
      $0.name = "A. L."
    }
    #expect(requestCount == 2)
    #expect(account.name == "A. L.")
  }

  @Test func `a sign-in of another user replaces all`() async throws {
    let clock = server.clock
    let (account, requestCount) = try await refreshed {
      $0.token = Token(id: "bob", number: 7, expirationDate: clock.now + 3600)
    }
    #expect(requestCount == 1)
    #expect(account.token.id == "bob")
    #expect(account.token.number == 7)
  }

  @Test func `tokens of one user are never given to another whose fields are equal`() async throws {
    let (account, requestCount) = try await refreshed { $0.token.id = "bob" }
    #expect(requestCount == 2)
    #expect(server.spent == [0, 0])
    #expect(account.token.id == "bob")
  }

  @Test func `an item without fields stays as the program has it`() async throws {
    let (store, clock, requestCount) = (MemoryStore(), ManualClock(), Shared(0))
    let numbers = try StoreContainer<Int>(store, service: "mail")
    let program = Session(container: numbers, storageIdentifier: "number")
    let session = Session(
      container: numbers, storageIdentifier: "number",
      refresher: SessionRefresher(clock: clock, expiration: { $0 < 10 ? clock.now : nil }) {
        request in
        requestCount.update { $0 += 1 }
        if requestCount.current == 1 { try await program.save(5) }
        return .refreshed(request.item + 10)
      })
    try await session.save(1)
    #expect(try await session.validItem() == 15)
    #expect(requestCount.current == 2)
  }
}
