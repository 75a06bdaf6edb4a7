import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The promises of every store, by each way to reach the server.
@Suite(.onOwnThread) struct `a database store` {
  // One after the other, because each has some of the server's connections.
  @Test(.serialized, arguments: try await StoreConformance.checks(for: .database(.socket)))
  func `keeps the promises of every store`(_ check: StoreConformance.Check) async throws {
    try await check.run { try await .database(.socket) }
  }

  @Test(.serialized, arguments: try await share(0, by: .tls))
  func `keeps the promises with TLS`(_ check: StoreConformance.Check) async throws {
    try await check.run { try await .database(.tls) }
  }

  @Test(.serialized, arguments: try await share(1, by: .pooler))
  func `keeps the promises through a pooler`(_ check: StoreConformance.Check) async throws {
    try await check.run { try await .database(.pooler) }
  }

  /// Returns a third of the checks, because the way makes no difference to what most of them look
  /// at, and all checks of streams, whose notifications take another way through a pooler; all
  /// checks at the large size.
  private static func share(
    _ number: Int, by way: Way
  ) async throws -> [StoreConformance.Check] {
    let checks = try await StoreConformance.checks(for: .database(way))
    guard TestSize.current != .large else { return checks }
    return checks.enumerated().filter { place, check in
      place % 3 == number || check.name.contains("stream")
    }.map(\.element)
  }

  private struct User: Codable, Equatable {
    var name: String
  }

  @Test(.serialized, arguments: ContainerConformance.checks(for: try await container()))
  func `has containers that keep their promises`(
    _ check: ContainerConformance.Check
  ) async throws {
    try await check.run { try await Self.container() }
  }

  private static func container() async throws -> ContainerUnderTest<User> {
    let subject = try await StoreUnderTest.database(.socket)
    guard let store = subject.store as? SealedDatabaseStore, let reopen = subject.reopen else {
      preconditionFailure("a database store")
    }
    let damaged = WeakStore(store)
    return ContainerUnderTest(
      try StoreContainer<User>(store, service: "mail"),
      items: (User(name: "Ada"), User(name: "Grace \u{e9}\n")),
      reopen: {
        guard let store = try await reopen() as? SealedDatabaseStore else {
          preconditionFailure("a database store")
        }
        return try StoreContainer<User>(store, service: "mail")
      },
      lock: subject.lock, unlock: subject.unlock,
      damage: { identifier in
        let itemName = try ItemName(identifier, in: StoreNamespace(service: "mail"))
        try await damaged.store?.put("damaged", for: itemName)
      }, cleanUp: subject.cleanUp)
  }
}
