import SecretStores
import Foundation

/// An item in a store, which is refreshed once among all processes.
struct StoreItemStorage<Item: Codable>: ItemStorage {
  let address: ItemAddress
  let coding: ItemCoding<Item>
  let encoder: JSONEncoder
  let decoder: JSONDecoder
  private let refreshLock: ItemName

  init(
    address: ItemAddress, coding: ItemCoding<Item>, encoder: JSONEncoder, decoder: JSONDecoder
  ) {
    self.address = address
    self.coding = coding
    self.encoder = encoder
    self.decoder = decoder
    refreshLock = address.name.refreshLock
  }

  private struct Commit: ItemCommit {
    let address: ItemAddress
    let encoded: SecretBytes
    let replaced: ItemVersion

    var bytes: SecretBytes? { encoded }

    func callAsFunction() async throws -> ChangeOutcome {
      // The new item itself may be replaced, too: a store that did not know whether it made this
      // change may have made it.
      try await address.apply(
        [.put(encoded, for: address.name)],
        if: .stored(address.name, isOneOf: [replaced, ItemVersion(encoded)]))
    }
  }

  var inStore: StoreItemStorage? { self }

  func joinSharedState() -> (membership: SharedStateMembership, isFinal: Bool) {
    let store = store.innermost
    // A store that cannot tell now is asked again the next time.
    if let identity = try? (store as? any LocatedStore)?.location() ?? store.identity() {
      return (SharedStateMembership(.store(identity, name)), true)
    }
    return (SharedStateMembership(store.object.map { .object($0, name) }), false)
  }

  private var store: any SecretStore { address.store }
  private var name: ItemName { address.name }

  func bytes(of item: Item) throws(StoreError) -> SecretBytes {
    try coding.bytes(of: item, for: name, encoder: encoder)
  }

  func item(from bytes: SecretBytes) throws(StoreError) -> Item {
    try coding.item(from: bytes, for: name, decoder: decoder)
  }

  func contains() throws -> Bool { try store.contains(name) }

  func contains() async throws -> Bool { try await store.asyncContains(name) }

  func load() throws -> Item? { try store.value(for: name).map(item(from:)) }

  func load() async throws -> sending Item? {
    guard let bytes = try await store.asyncValue(for: name) else { return nil }
    return try coding.item(from: bytes, for: name, decoder: decoder)
  }

  func save(_ new: Item) throws {
    try address.make(address.signIn(try bytes(of: new)))
  }

  func save(_ new: sending Item) async throws {
    try await address.make(address.signIn(try bytes(of: new)))
  }

  func remove() throws { try address.make(address.signOut()) }

  func remove() async throws { try await address.make(address.signOut()) }

  var recordsRejections: Bool { address.rejection != nil }

  func recordedRejection() throws -> RecordedRejection? { try address.recordedRejection() }

  func recordedRejection() async throws -> RecordedRejection? {
    try await address.recordedRejection()
  }

  func snapshot() async throws -> ItemSnapshot<Item>? {
    try await store.asyncValue(for: name).map(snapshot(of:))
  }

  func snapshot(of bytes: SecretBytes) throws -> ItemSnapshot<Item> {
    ItemSnapshot(item: try item(from: bytes), version: ItemVersion(bytes))
  }

  func whileRefreshing<Value>(
    timeout: Duration,
    _ body: (Result<ItemSnapshot<Item>?, any Error>) async throws -> Value
  ) async throws -> Value {
    // Behind a gate the item is read through the gate.
    if address.gate == nil, let leasing = address.leasing {
      return try await leasing.withExclusiveAccess(
        to: refreshLock, timeout: timeout, reading: name
      ) { bytes in
        try await body(Result { try bytes.get().map(snapshot(of:)) })
      }
    }
    return try await store.withExclusiveAccess(to: refreshLock, timeout: timeout) {
      try await body(await unattendedResult())
    }
  }

  func checkRoom(replacing version: ItemVersion) throws {
    try address.checkRoom(replacing: version)
  }

  var leasingStore: (any LeasingStore)? { address.leasing }

  func commit(_ new: Item, replacing version: ItemVersion) throws -> any ItemCommit {
    Commit(address: address, encoded: try bytes(of: new), replaced: version)
  }

  func remove(
    _ version: ItemVersion, recording rejection: RecordedRejection
  ) async throws -> ChangeOutcome {
    try await address.apply(
      try address.reject(rejection), if: .stored(name, isOneOf: [version]))
  }
}
