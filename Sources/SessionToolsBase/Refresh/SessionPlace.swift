import Foundation

/// An item as it was stored when it was read.
struct ItemSnapshot<Item> {
  let item: Item
  let version: ItemVersion
  /// The item's bytes, where they are known.
  var bytes: SecretBytes?
}

/// The place of a session's item, as a refresh uses it.
protocol SessionPlace<Item>: Sendable {
  associatedtype Item: Codable

  /// The same place, if it is in a store.
  var storePlace: StorePlace<Item>? { get }

  /// Returns the item as it is stored now.
  func snapshot() async throws -> ItemSnapshot<Item>?

  /// Returns an item as it is read after it was stored: its dates may have lost their fractions.
  func asStored(_ item: Item) throws -> Item

  /// Runs a closure while no one else refreshes the item.
  func whileRefreshing<Result>(
    timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result

  /// Returns whether the spent marker is set.
  func isMarked() async throws -> Bool

  /// Sets the spent marker durably before the item's refresh token is sent, if this version is
  /// still stored.
  func mark(_ version: ItemVersion) async throws -> StoredItem

  /// Removes the spent marker.
  func removeMark() async throws

  /// Makes the operation that replaces a version by an item, if that version is still stored.
  func commit(_ item: Item, replacing version: ItemVersion) throws -> any ItemCommit

  /// Removes the item, if this version is still stored.
  func remove(_ version: ItemVersion) async throws -> StoredItem
}

extension SessionPlace {
  /// The item's address for shared reads; `nil` where each task must read for itself.
  var sharedAddress: ItemAddress? { storePlace.flatMap(\.item.sharedAddress) }
}

/// An item that is ready to be stored, possibly more than once.
protocol ItemCommit: Sendable {
  /// The item's bytes, where they are known.
  var bytes: SecretBytes? { get }

  /// Stores the item, unless the version that it replaces is no longer stored.
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
      // In this order: where changes are made one by one, the item comes first. The item also
      // replaces itself, since a store that reported an unknown outcome may have stored it.
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

/// An item in a container that is not on a store: refreshed once in this process, and changed only
/// by its sessions.
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
    // In this order: an item stored in between is taken for an older one, which is harmless.
    let version = changes.version
    return try await container.asyncLoadItem(forIdentifier: identifier, jsonDecoder: decoder)
      .map { ItemSnapshot(item: $0, version: version) }
  }

  /// Returns the item itself, because it is unknown how the container stores it.
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

  /// Makes a change; may block, because a refresh has a thread of its own.
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

/// A change that stores an item in a container that is not on a store, or removes it.
///
/// Unchecked: the creator gives the item up, and only one thread at a time makes the change.
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

/// The changes that sessions make to an item of a container that is not on a store.
///
/// Unchecked: the lock makes it true. It is recursive, so that a container may call back into its
/// session.
final class ContainerChanges: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private var count = 0

  /// The version stored by the last change.
  var version: ItemVersion { lock.withLock { .change(count) } }

  /// Makes a change while no other change is made.
  func make<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock {
      let result = try body()
      count += 1
      return result
    }
  }
}
