import SessionToolsDatabaseServer
import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What the three roles of a store are for.
@Suite(.onOwnThread) struct `a role of a database` {
  private let item: ItemName

  init() throws {
    item = try ItemName("item", in: "svc")
  }

  /// Opens the store as a user who has one of the roles.
  private func open(_ made: StoreOnServer, as role: String) async throws -> SealedDatabaseStore {
    let user = "\(made.location.options.schema)_user"
    try await made.ask("CREATE ROLE $_user LOGIN IN ROLE $_\(role)")
    var location = made.location
    location.address = try await DatabaseServer.shared().socketAddress(user: user)
    return try location.reopened()
  }

  @Test func `for programs changes slots and keys, and sweeps`() async throws {
    let made = try await StoreOnServer()
    let store = try await open(made, as: "application")
    try await store.put("value", for: item)
    let key = try RawKey(RawKey.random(), label: "new")
    try store.addSlot(key)
    try store.sweep()
    #expect(try await made.ask("SELECT count(*) FROM $.horizon") == "1")
    try store.rotate()
    try store.revoke(keeping: [key]) { _ in true }
    #expect(try await store.text(for: item) == "value")
    #expect(try await made.ask("SELECT epoch FROM $.item") == "3")
  }

  @Test func `for auditors reads everything and changes nothing`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("value", for: item)
    let directory = try TemporaryDirectory()
    let keeper = try SealedFileStore.create(
      at: directory["comparison"], key: RawKey(RawKey.random()))
    let store = try await open(made, as: "auditor")
    #expect(try store.compare(with: keeper).itemCount == 1)
    #expect(try await store.text(for: item) == "value")
    let key = try RawKey(RawKey.random())
    for change in [
      { try store.apply([.remove(item)]) }, { try store.addSlot(key) }, { try store.rotate() },
      { try store.sweep() },
    ] {
      #expect(try code(change) == .accessDenied)
    }
    #expect(try await made.store.text(for: item) == "value")
  }
}
