import Foundation
import SessionToolsBase
import Testing

@Suite struct `a session` {
  let ada = User(id: "ada")
  let store = MemoryStore()
  let session: Session<User>

  init() throws {
    session = Session(
      container: try StoreContainer<User>(store, service: "mail"), storageIdentifier: "user")
  }

  @Test func `it keeps the values it is made with, and reads nothing when it is made`() throws {
    let poster = Recorder()
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    let session = Session<User>(
      container: AnySessionContainer(
        try StoreContainer<User>(RefusingStore(StoreError.locked), service: "mail")),
      storageIdentifier: "user", notificationPoster: poster, itemEncoder: encoder,
      itemDecoder: decoder)
    #expect(session.storageIdentifier == "user")
    #expect(session.notificationPoster as? Recorder === poster)
    #expect(session.encoder === encoder && session.decoder === decoder)
  }

  @Test func `an item is stored, read and deleted`() throws {
    #expect(!session.hasItem && session.currentItem == nil)
    #expect(try session.item() == nil && !session.containsItem())
    try session.updateItem(ada)
    #expect(session.hasItem && session.currentItem == ada)
    #expect(try session.item() == ada && session.containsItem())
    try session.deleteItem()
    try session.deleteItem()
    #expect(!session.hasItem)
  }

  @Test func `the async calls do the same`() async throws {
    try await session.save(ada)
    #expect(try await session.item() == ada)
    #expect(try await session.containsItem())
    #expect(await session.currentState().item == ada)
    try await session.remove()
    #expect(try await session.item() == nil)
    #expect(try await !session.containsItem())
  }

  @Test func `updating with nil changes nothing`() throws {
    try session.updateItem(nil)
    #expect(!session.hasItem)
    try session.updateItem(ada)
    try session.updateItem(nil)
    #expect(session.currentItem == ada)
  }

  @Test func `the state is signed out only if the store is open and empty`() async throws {
    #expect(session.state.word == "signedOut")
    #expect(session.state.item == nil)
    try await session.save(ada)
    #expect(session.state.word == "signedIn")
    #expect(session.state.item == ada)
  }

  @Test(arguments: [
    StoreError.locked, StoreError.unavailable, StoreError.corrupt, StoreError.accessDenied,
    StoreError.wrongKey, StoreError.keyMissing, StoreError.promptDismissed, StoreError.timedOut,
    StoreError.unsupportedVersion, StoreError.io,
  ])
  func `a store that cannot answer is unavailable, never signed out`(
    code: StoreError.Code
  ) async throws {
    let session = Session(
      container: try StoreContainer<User>(RefusingStore(code), service: "mail"),
      storageIdentifier: "user")
    #expect(session.state.word == "unavailable: \(code)")
    #expect(await session.currentState().word == "unavailable: \(code)")
    expectFailure(code) { try session.item() }
    expectFailure(code) { try session.containsItem() }
    await expectFailure(code) { try await session.item() }
    await expectFailure(code) { try await session.containsItem() }
    await expectFailure(code) { try await session.save(User(id: "ada")) }
    await expectFailure(code) { try await session.remove() }
    #expect(!session.hasItem && session.currentItem == nil)
  }

  @Test func `an item that cannot be decoded is unavailable and is not removed`() async throws {
    let name = try ItemName("user", in: "mail")
    try await store.put(SecretBytes(utf8: "{}"), for: name)
    #expect(session.state.word == "unavailable: undecodable")
    #expect(await session.currentState().word == "unavailable: undecodable")
    #expect(session.currentItem == nil && session.hasItem)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "{}"))
  }

  @Test func `an item that an old container cannot decode is unavailable`() {
    let old = OldContainer<User>()
    old.entries["user"] = Data("damaged".utf8)
    let session = Session(container: old, storageIdentifier: "user")
    #expect(session.state.word == "unavailable: undecodable")
    #expect(session.hasItem && session.currentItem == nil)
  }

  @Test func `an old container's own error is the reason`() {
    struct Broken: SessionContainer {
      func hasItem(forIdentifier identifier: String) -> Bool { true }
      func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> User? {
        throw TestError()
      }
      func removeItem(forIdentifier identifier: String) throws { throw TestError() }
      func storeItem(
        _ item: User, forIdentifier identifier: String, jsonEncoder: JSONEncoder
      ) throws { throw TestError() }
    }
    let session = Session(container: Broken(), storageIdentifier: "user")
    guard case .unavailable(let error) = session.state else {
      Issue.record("\(session.state)")
      return
    }
    #expect(error is TestError)
    #expect(throws: TestError.self) { try session.updateItem(ada) }
    #expect(throws: TestError.self) { try session.deleteItem() }
  }

  @Test func `the coders of the session code its item`() throws {
    struct Visit: Codable, Equatable { var day: Date }
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let session = Session(
      container: try StoreContainer<Visit>(store, service: "mail"), storageIdentifier: "visit",
      itemEncoder: encoder, itemDecoder: decoder)
    try session.updateItem(Visit(day: Date(timeIntervalSince1970: 7)))
    #expect(
      store.value(for: try ItemName("visit", in: "mail")) == SecretBytes(utf8: #"{"day":7}"#))
    #expect(session.currentItem == Visit(day: Date(timeIntervalSince1970: 7)))
  }

  @Test func `a subclass may override reading and writing, and the rest follows`() throws {
    final class Renaming: Session<User>, @unchecked Sendable {
      override func item() throws -> User? {
        try super.item().map { User(id: $0.id.uppercased()) }
      }
      override func updateItem(_ model: User?) throws {
        try super.updateItem(model.map { User(id: $0.id + "!") })
      }
    }
    let session = Renaming(container: session.container, storageIdentifier: "user")
    try session.updateItem(ada)
    #expect(session.currentItem?.id == "ADA!")
    #expect(session.state.item?.id == "ADA!")
  }

  @Test func `a session is used from many tasks at once`() async throws {
    let session = session
    try await withThrowingTaskGroup { group in
      for number in 0..<16 {
        group.addTask {
          for _ in 0..<20 {
            try await session.save(User(id: "\(number)"))
            #expect(try await session.item() != nil)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(session.hasItem)
  }
}
