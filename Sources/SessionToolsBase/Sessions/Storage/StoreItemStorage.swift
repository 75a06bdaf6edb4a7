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
    if let identity = try? (store as? any PlacedStore)?.place() ?? store.identity() {
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

  func store(_ new: Item, in signIn: SignIn?) throws {
    let changes = changes(storing: try bytes(of: new), in: signIn)
    try address.change { try store.apply(changes) }
    signIn?.hasRemovedNotice = changes.count > 1
  }

  func store(_ new: sending Item, in signIn: SignIn?) async throws {
    let changes = changes(storing: try bytes(of: new), in: signIn)
    try await address.change { try await store.apply(changes) }
    signIn?.hasRemovedNotice = changes.count > 1
  }

  /// Returns the change that stores an item, and in a sign-in also removes the last user's notice.
  ///
  /// A store that makes changes one by one might store the item and then fail.
  private func changes(storing bytes: SecretBytes, in signIn: SignIn?) -> [StoreChange] {
    let change = StoreChange.put(bytes, for: key)
    guard signIn != nil, store.traits.isAtomic else { return [change] }
    return [change, .remove(address.noticeKey)]
  }

  func remove() throws {
    try address.change { try store.apply([.remove(key)]) }
  }

  func remove() async throws {
    try await address.change { try await store.apply([.remove(key)]) }
  }

  func snapshot() async throws -> ItemSnapshot<Item>? {
    try await store.value(for: key).map(snapshot(of:))
  }

  func snapshot(of bytes: SecretBytes) throws -> ItemSnapshot<Item> {
    ItemSnapshot(item: try item(from: bytes), version: ItemVersion(bytes), bytes: bytes)
  }

  func whileRefreshing<Result>(
    timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await store.withExclusiveAccess(to: address.noticeKey, timeout: timeout, body)
  }

  var leasingStore: (any LeasingStore)? { store.innermost as? any LeasingStore }

  func hasSpentNotice() async throws -> Bool {
    try await store.contains(address.noticeKey)
  }

  func putSpentNotice(for version: ItemVersion) async throws -> ChangeOutcome {
    try await address.apply(
      [.put(SpentNotice.bytes, for: address.noticeKey)], ifStored: [version])
  }

  func removeSpentNotice() throws {
    if try store.contains(address.noticeKey) { try store.apply([.remove(address.noticeKey)]) }
  }

  func removeSpentNotice() async throws {
    guard try await store.contains(address.noticeKey) else { return }
    try await store.apply([.remove(address.noticeKey)])
  }

  func commit(_ new: Item, replacing version: ItemVersion) throws -> any ItemCommit {
    Commit(address: address, encoded: try bytes(of: new), replaced: version)
  }

  func remove(_ version: ItemVersion) async throws -> ChangeOutcome {
    try await address.apply([.remove(key), .remove(address.noticeKey)], ifStored: [version])
  }
}
