import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Pages of a server that is not honest about which rows there are.
@Suite(.onOwnThread) struct `a list of a false database` {
  /// A store of 1,100 items behind a proxy.
  private func store(
    _ statement: String, _ manner: String
  ) async throws -> (StoreOnServer, FalseDatabase, SealedDatabaseStore) {
    let made = try await StoreOnServer()
    try made.fill(1100)
    let server = try await DatabaseServer.shared()
    let proxy = try await FalseDatabase(
      program: "RepeatingDatabase", ["\(server.port)", statement, manner])
    var location = made.location
    location.address = server.address(port: proxy.port, "sslmode=disable")
    return (made, proxy, try location.reopened())
  }

  @Test(arguments: ["repeat", "turn", "double"])
  func `ends as corrupt`(manner: String) async throws {
    let (made, proxy, store) = try await store("page", manner)
    #expect(try code { _ = try store.names(in: nil) } == .corrupt)
    #expect(try code { _ = try store.names(in: StoreNamespace(service: "svc")) } == .corrupt)
    #expect(try code { _ = try store.listing() } == .corrupt)
    let directory = try TemporaryDirectory()
    let keeper = try SealedFileStore.create(at: directory["keeper"], key: RawKey(RawKey.random()))
    #expect(try code { _ = try store.compare(with: keeper) } == .corrupt)
    #expect(try await made.store.names(in: nil).count == 1100)
    withExtendedLifetime(proxy) {}
  }

  @Test(arguments: ["repeat", "turn", "double"])
  func `ends a rotation as corrupt`(manner: String) async throws {
    let (made, proxy, store) = try await store("scan", manner)
    #expect(try code { try store.rotate() } == .corrupt)
    try made.reopened().rotate()
    withExtendedLifetime(proxy) {}
  }

  @Test func `has no item whose removal was forged, nor lacks one`() async throws {
    let made = try await StoreOnServer()
    try made.fill(3)
    let removed = try ItemName("removed", in: "svc")
    try await made.store.put("x", for: removed)
    try await made.store.remove(removed)
    #expect(try await made.store.names(in: nil).count == 3)
    #expect(try made.store.listing().damage == nil)
    let directory = try TemporaryDirectory()
    for change in ["gone = true WHERE NOT gone", "gone = false WHERE gone", "gone = NOT gone"] {
      try await made.ask("CREATE TABLE $.before AS SELECT * FROM $.item")
      try await made.ask("UPDATE $.item SET \(change)")
      let store = try made.reopened()
      #expect(try code { _ = try store.names(in: nil) } == .corrupt, "\(change)")
      #expect(
        try code { _ = try store.names(in: StoreNamespace(service: "svc")) } == .corrupt,
        "\(change)")
      let listing = try store.listing()
      #expect(listing.damage?.code == .corrupt, "\(change)")
      #expect(listing.names.count == (change.contains("false") ? 3 : 0), "\(change)")
      let keeper = try SealedFileStore.create(
        at: directory[UUID().uuidString], key: RawKey(RawKey.random()))
      #expect(try !store.compare(with: keeper).findings.isEmpty, "\(change)")
      try await made.ask(
        "DELETE FROM $.item; INSERT INTO $.item SELECT * FROM $.before; DROP TABLE $.before")
    }
    #expect(try await made.reopened().names(in: nil).count == 3)
  }
}
