import Foundation

/// An item as it was stored when it was read.
struct ItemSnapshot<Item> {
  let item: Item
  let version: ItemVersion
  /// Where they are known.
  var bytes: SecretBytes?
}

/// Where a session's item is, for a refresh.
protocol SessionPlace<Item>: Sendable {
  associatedtype Item: Codable

  /// The same, where it is in a store.
  var storePlace: StorePlace<Item>? { get }

  /// The item as it is stored now.
  func snapshot() async throws -> ItemSnapshot<Item>?

  /// An item as it is read when it has been stored: its dates may have lost their fractions.
  func asStored(_ item: Item) throws -> Item

  /// Runs a closure while nobody else refreshes the item.
  func whileRefreshing<Result>(
    timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result

  /// Whether what refreshes the item may be spent.
  func isMarked() async throws -> Bool

  /// Makes durable that what refreshes the item may be spent from now on, if it is still stored.
  func mark(_ version: ItemVersion) async throws -> StoredItem

  /// Takes the mark back.
  func removeMark() async throws

  /// What stores an item in the place of one that is still stored.
  func commit(_ item: Item, replacing version: ItemVersion) throws -> any ItemCommit

  /// Removes the item if it is still stored.
  func remove(_ version: ItemVersion) async throws -> StoredItem
}

extension SessionPlace {
  /// Where the item is, for those who read it together; `nil` where each has to ask for itself.
  var sharedAddress: ItemAddress? { storePlace.flatMap(\.item.sharedAddress) }
}

/// An item that is ready to be stored, once or again.
protocol ItemCommit: Sendable {
  /// The item's bytes, where they are known.
  var bytes: SecretBytes? { get }

  /// Stores it, unless what it replaces is not stored any more.
  func callAsFunction() async throws -> StoredItem
}

/// An item in a store: refreshed once among all processes.
struct StorePlace<Item: Codable>: SessionPlace {
  let item: StoreItem
  let coding: ItemCoding<Item>
  let encoder: JSONEncoder
  let decoder: JSONDecoder

  private struct Commit: ItemCommit {
    let item: StoreItem
    let encoded: SecretBytes
    let replaced: ItemVersion

    var bytes: SecretBytes? { encoded }

    func callAsFunction() async throws -> StoredItem {
      // In this order: where changes are made one by one, the item comes first. Its own is replaced
      // as well, since a store that did not know whether it made the change may have made it.
      let changes = [StoreChange.put(encoded, for: item.key), .remove(item.markKey)]
      return try await item.apply(changes, ifStored: [replaced, ItemVersion(encoded)])
    }
  }

  var storePlace: StorePlace? { self }

  func snapshot() async throws -> ItemSnapshot<Item>? {
    try await item.store.value(for: item.key).map(snapshot(of:))
  }

  func snapshot(of bytes: SecretBytes) throws -> ItemSnapshot<Item> {
    ItemSnapshot(
      item: try coding.item(from: bytes, for: item.key, decoder: decoder),
      version: ItemVersion(bytes), bytes: bytes)
  }

  func asStored(_ new: Item) throws -> Item {
    let bytes = try coding.bytes(of: new, for: item.key, encoder: encoder)
    return try coding.item(from: bytes, for: item.key, decoder: decoder)
  }

  func whileRefreshing<Result>(
    timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await item.store.withExclusiveAccess(to: item.markKey, timeout: timeout, body)
  }

  func isMarked() async throws -> Bool {
    try await item.store.contains(item.markKey)
  }

  func mark(_ version: ItemVersion) async throws -> StoredItem {
    try await item.apply([.put(SpentMark.bytes, for: item.markKey)], ifStored: [version])
  }

  func removeMark() async throws {
    try await item.removeMark()
  }

  func commit(_ new: Item, replacing version: ItemVersion) throws -> any ItemCommit {
    let bytes = try coding.bytes(of: new, for: item.key, encoder: encoder)
    return Commit(item: item, encoded: bytes, replaced: version)
  }

  func remove(_ version: ItemVersion) async throws -> StoredItem {
    try await item.apply([.remove(item.key), .remove(item.markKey)], ifStored: [version])
  }
}

/// An item in a container that is on no store: refreshed once in this process, and changed by its
/// sessions alone.
struct ContainerPlace<Item: Codable>: SessionPlace {
  let container: AnySessionContainer<Item>
  let identifier: String
  let encoder: JSONEncoder
  let decoder: JSONDecoder
  let changes: ContainerChanges

  private struct Commit: ItemCommit {
    let place: ContainerPlace
    let change: ContainerChange<Item>
    let replaced: ItemVersion

    var bytes: SecretBytes? { nil }

    func callAsFunction() async throws -> StoredItem {
      try place.make(change, ifStored: replaced)
    }
  }

  var storePlace: StorePlace<Item>? { nil }

  func snapshot() async throws -> ItemSnapshot<Item>? {
    // In this order: an item that comes between is taken for an older one, which changes nothing.
    let version = changes.version
    return try await container.asyncLoadItem(forIdentifier: identifier, jsonDecoder: decoder)
      .map { ItemSnapshot(item: $0, version: version) }
  }

  /// How the container stores it is not known.
  func asStored(_ item: Item) -> Item { item }

  func whileRefreshing<Result>(
    timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    try await body()
  }

  func isMarked() async throws -> Bool { false }
  func mark(_ version: ItemVersion) async throws -> StoredItem { .asWished }
  func removeMark() async throws {}

  func commit(_ item: Item, replacing version: ItemVersion) throws -> any ItemCommit {
    Commit(place: self, change: change(to: item), replaced: version)
  }

  func remove(_ version: ItemVersion) async throws -> StoredItem {
    try make(change(to: nil), ifStored: version)
  }

  private func change(to item: Item?) -> ContainerChange<Item> {
    ContainerChange(container: container, identifier: identifier, encoder: encoder, item: item)
  }

  /// Blocks, which a refresh may: it has a thread of its own.
  private func make(
    _ change: ContainerChange<Item>, ifStored version: ItemVersion
  ) throws -> StoredItem {
    try changes.make {
      guard try container.containsItem(forIdentifier: identifier) else { return .nothing }
      guard changes.version == version else { return .another }
      try change()
      return .asWished
    }
  }
}

/// A change that blocks.
protocol BlockingChange: Sendable {
  func callAsFunction() throws
}

/// Stores an item in a container that is on no store, or removes it.
///
/// Unchecked: whoever makes this gives the item up, and one at a time makes the change.
struct ContainerChange<Item: Codable>: BlockingChange, @unchecked Sendable {
  let container: AnySessionContainer<Item>
  let identifier: String
  let encoder: JSONEncoder
  let item: Item?

  func callAsFunction() throws {
    guard let item else { return try container.removeItem(forIdentifier: identifier) }
    try container.storeItem(item, forIdentifier: identifier, jsonEncoder: encoder)
  }
}

/// The changes that sessions make to an item of a container that is on no store.
///
/// Unchecked: the lock makes it true. Recursive, so that a container may call its session back.
final class ContainerChanges: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private var count = 0

  /// What is stored since the last of them.
  var version: ItemVersion { lock.withLock { .change(count) } }

  /// Makes one while nobody else does.
  func make<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock {
      let result = try body()
      count += 1
      return result
    }
  }
}
