import SealedStore
import SessionToolsBase
import SessionToolsTesting
import StoreMigration
import SessionToolsTestSupport
import Testing

/// The stores of this package, each under every check that applies to it.
@Suite(.timeLimit(.minutes(20))) struct `the stores of this package` {
  private static func memoryStore() -> StoreUnderTest { StoreUnderTest(MemoryStore()) }

  @Test(arguments: StoreConformance.checks(for: memoryStore()))
  func `a memory store keeps the promises of every store`(
    _ check: StoreConformance.Check
  ) async throws {
    try await check.run { Self.memoryStore() }
  }

  private static func sealedStore() throws -> StoreUnderTest {
    let directory = try TemporaryDirectory()
    let key = try RawKey(RawKey.random())
    let store = try SealedFileStore.create(at: directory["store"], key: key)
    // A weak reference, so that these closures do not retain the store.
    let locking = Weak(store)
    return StoreUnderTest(
      store, reopen: { try SealedFileStore.open(at: directory["store"], key: key) },
      lock: { locking.value?.lock() }, unlock: { try locking.value?.unlock(with: key) })
  }

  @Test(arguments: StoreConformance.checks(for: try sealedStore()))
  func `a sealed file store keeps the promises of every store`(
    _ check: StoreConformance.Check
  ) async throws {
    try await check.run { try Self.sealedStore() }
  }

  /// Returns a faulty store without a fault, on a store that outlives it.
  private static func faultyStore() -> StoreUnderTest {
    let memory = MemoryStore()
    let limited = { @Sendable in
      FaultyStore(memory, maximumValueByteCount: 1 << 20, maximumChangeCount: 100)
    }
    let store = limited()
    let locking = Weak(store)
    return StoreUnderTest(
      store, reopen: limited,
      lock: { locking.value?.lock() }, unlock: { locking.value?.unlock() })
  }

  @Test(arguments: StoreConformance.checks(for: faultyStore()))
  func `a faulty store without a fault keeps the promises of every store`(
    _ check: StoreConformance.Check
  ) async throws {
    try await check.run { Self.faultyStore() }
  }

  private static func readOnlyItems() throws -> StoreUnderTest {
    var items: [ItemName: SecretBytes] = [:]
    for (identifier, service) in [("a", "mail"), ("b", "mail"), ("a", "other")] {
      let name = try ItemName(identifier, in: StoreNamespace(service: service))
      items[name] = SecretBytes(utf8: "\(service) \(identifier)")
    }
    let kept = items
    return StoreUnderTest(
      ReadOnlyItems(
        name: "items", protection: "none", list: { StoreListing(names: kept.keys.sorted()) },
        read: { kept[$0] }))
  }

  @Test(arguments: StoreConformance.checks(for: try readOnlyItems()))
  func `items that are only read keep the promises of every such store`(
    _ check: StoreConformance.Check
  ) async throws {
    try await check.run { try Self.readOnlyItems() }
  }

  @Test func `every check of stores that take changes applies to a store of this package`() throws {
    let stores = [Self.memoryStore(), try Self.sealedStore(), Self.faultyStore()]
    for check in StoreConformance.all {
      #expect(stores.contains { check.applies(to: $0) }, "\(check)")
    }
    #expect(StoreConformance.checks(for: try Self.readOnlyItems()) == StoreConformance.readOnly)
  }
}
