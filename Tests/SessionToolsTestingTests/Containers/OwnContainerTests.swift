import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestSupport
import Testing

private struct User: Codable, Equatable, Sendable {
  var name: String
  var tokens: [Data] = []
}

/// The containers of this package, each under every check that applies to it.
@Suite(.timeLimit(.minutes(20))) struct `the containers of this package` {
  private static let users = (
    User(name: "Ada", tokens: [Data([0, 255])]), User(name: "Grace \u{e9}\n")
  )

  private static func storeContainer() throws -> ContainerUnderTest<User> {
    let store = FaultyStore(MemoryStore())
    let container = try StoreContainer<User>(store, service: "mail")
    return ContainerUnderTest(
      container, items: users, reopen: { try StoreContainer<User>(store, service: "mail") },
      lock: { store.lock() }, unlock: { store.unlock() },
      damage: { identifier in
        let name = try ItemName(identifier, in: container.namespace)
        try await store.put(SecretBytes(utf8: "damaged"), for: name)
      })
  }

  @Test(arguments: ContainerConformance.checks(for: try storeContainer()))
  func `a store container keeps the promises of every container`(
    _ check: ContainerConformance.Check
  ) async throws {
    try await check.run { try Self.storeContainer() }
  }

  private static func accountContainer() throws -> ContainerUnderTest<User> {
    let directory = try TemporaryDirectory()
    let key = try RawKey(RawKey.random())
    func open(_ store: SealedFileStore) throws -> StoreContainer<User> {
      try StoreContainer<User>(store, service: "mail", coding: .propertyList)
        .items(of: AccountIdentifier("ada"))
    }
    let store = try SealedFileStore.create(at: directory["store"], key: key)
    return ContainerUnderTest(
      try open(store), items: users,
      reopen: { try open(SealedFileStore.open(at: directory["store"], key: key)) },
      lock: { store.lock() }, unlock: { try store.unlock(with: key) })
  }

  @Test(arguments: ContainerConformance.checks(for: try accountContainer()))
  func `a container of an account in a sealed file keeps the promises of every container`(
    _ check: ContainerConformance.Check
  ) async throws {
    try await check.run { try Self.accountContainer() }
  }

  private static func erasedContainer() throws -> ContainerUnderTest<User> {
    let inside = try storeContainer()
    guard let container = inside.container as? StoreContainer<User> else { throw Unexpected() }
    return ContainerUnderTest(
      AnySessionContainer(container), items: users,
      reopen: { AnySessionContainer(container) }, lock: inside.lock, unlock: inside.unlock,
      damage: inside.damage)
  }

  @Test(arguments: ContainerConformance.checks(for: try erasedContainer()))
  func `any session container keeps the promises of every container`(
    _ check: ContainerConformance.Check
  ) async throws {
    try await check.run { try Self.erasedContainer() }
  }

  private static func oldContainer() -> ContainerUnderTest<User> {
    ContainerUnderTest(OldContainer<User>(), items: users)
  }

  @Test(arguments: ContainerConformance.checks(for: oldContainer()))
  func `a container with the four old methods passes the checks of these`(
    _ check: ContainerConformance.Check
  ) async throws {
    #expect(!check.requirements.contains(.observable))
    try await check.run { Self.oldContainer() }
  }

  private static func erasedOldContainer() -> ContainerUnderTest<User> {
    let old = OldContainer<User>()
    let container = AnySessionContainer(old)
    return ContainerUnderTest(
      container, items: users, reopen: { AnySessionContainer(container) },
      damage: { old.entries[$0] = Data("damaged".utf8) })
  }

  @Test(arguments: ContainerConformance.checks(for: erasedOldContainer()))
  func `an old container in any session container keeps the promises of every container`(
    _ check: ContainerConformance.Check
  ) async throws {
    try await check.run { Self.erasedOldContainer() }
  }

  @Test func `every check applies to a store container, and half of them to an old one`() throws {
    #expect(ContainerConformance.checks(for: try Self.storeContainer()) == ContainerConformance.all)
    let old = ContainerConformance.checks(for: Self.oldContainer())
    #expect(old.count == 13)
    #expect(ContainerConformance.checks(for: Self.erasedOldContainer()).count > old.count)
  }
}

private struct Unexpected: Error {}

/// A container as in programs of 2019: a class, not synchronized, not Sendable, which returns `nil`
/// for an item that it cannot decode.
private final class OldContainer<Item: Codable>: SessionContainer {
  var entries: [String: Data] = [:]

  func hasItem(forIdentifier identifier: String) -> Bool { entries[identifier] != nil }

  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item? {
    guard let data = entries[identifier] else { return nil }
    return try? jsonDecoder.decode(Item.self, from: data)
  }

  func removeItem(forIdentifier identifier: String) throws { entries[identifier] = nil }

  func storeItem(
    _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) throws {
    entries[identifier] = try jsonEncoder.encode(item)
  }
}
