import Foundation

/// An item in a store, which is refreshed once among all processes.
struct StoreItemStorage<Item: Codable>: ItemStorage {
  let address: ItemAddress
  let coding: ItemCoding<Item>
  let encoder: JSONEncoder
  let decoder: JSONDecoder

  private struct Commit: ItemCommit {
    let address: ItemAddress
    let encoded: SecretBytes
    let replaced: ItemVersion

    var bytes: SecretBytes? { encoded }

    func callAsFunction() async throws -> ChangeOutcome {
      // In this order: a store that makes changes one by one stores the item first. The new item
      // itself may be replaced, too: a store that did not know whether it made this change may have
      // made it.
      let changes = [StoreChange.put(encoded, for: address.key), .remove(address.noticeKey)]
      return try await address.apply(changes, ifStored: [replaced, ItemVersion(encoded)])
    }
  }

  var inStore: StoreItemStorage? { self }

  func joinSharedState() -> (membership: SharedStateMembership, isFinal: Bool) {
    let store = store.innermost
    // A store that cannot tell now is asked again the next time.
    if let identity = (try? store.identity()) ?? nil {
      return (SharedStateMembership(.store(identity, key)), true)
    }
    return (SharedStateMembership(store.object.map { .object($0, key) }), false)
  }

  private var store: any SecretStore { address.store }
  private var key: StoreKey { address.key }

  private func bytes(of item: Item) throws(StoreError) -> SecretBytes {
    try coding.bytes(of: item, for: key, encoder: encoder)
  }

  private func item(from bytes: SecretBytes) throws(StoreError) -> Item {
    try coding.item(from: bytes, for: key, decoder: decoder)
  }

  func contains() throws -> Bool { try store.contains(key) }

  func contains() async throws -> Bool { try await store.contains(key) }

  func load() throws -> Item? { try store.value(for: key).map(item(from:)) }

  func load() async throws -> sending Item? {
    guard let bytes = try await store.value(for: key) else { return nil }
    return try coding.item(from: bytes, for: key, decoder: decoder)
  }

  func store(_ new: Item) throws {
    let bytes = try bytes(of: new)
    try address.change { try store.put(bytes, for: key) }
  }

  func store(_ new: sending Item) async throws {
    let bytes = try bytes(of: new)
    try await address.change { try await store.put(bytes, for: key) }
  }

  func remove() throws {
    try address.change { try store.remove(key) }
  }

  func remove() async throws {
    try await address.change { try await store.remove(key) }
  }

  func snapshot() async throws -> ItemSnapshot<Item>? {
    try await store.value(for: key).map(snapshot(of:))
  }

  func snapshot(of bytes: SecretBytes) throws -> ItemSnapshot<Item> {
    ItemSnapshot(item: try item(from: bytes), version: ItemVersion(bytes), bytes: bytes)
  }

  func asStored(_ new: Item) throws -> Item { try item(from: try bytes(of: new)) }

  func whileRefreshing<Result>(
    timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await store.withExclusiveAccess(to: address.noticeKey, timeout: timeout, body)
  }

  func hasSpentNotice() async throws -> Bool {
    try await store.contains(address.noticeKey)
  }

  func putSpentNotice(for version: ItemVersion) async throws -> ChangeOutcome {
    try await address.apply(
      [.put(SpentNotice.bytes, for: address.noticeKey)], ifStored: [version])
  }

  func removeSpentNotice() throws {
    if try store.contains(address.noticeKey) { try store.remove(address.noticeKey) }
  }

  func removeSpentNotice() async throws {
    if try await store.contains(address.noticeKey) { try await store.remove(address.noticeKey) }
  }

  func commit(_ new: Item, replacing version: ItemVersion) throws -> any ItemCommit {
    Commit(address: address, encoded: try bytes(of: new), replaced: version)
  }

  func remove(_ version: ItemVersion) async throws -> ChangeOutcome {
    try await address.apply([.remove(key), .remove(address.noticeKey)], ifStored: [version])
  }
}
