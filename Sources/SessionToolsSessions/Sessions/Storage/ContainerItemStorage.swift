import SecretStores
import Foundation

/// An item in a container that is not on a store: refreshed once in this process, and changed by
/// this process's sessions alone.
struct ContainerItemStorage<Item: Codable>: ItemStorage {
  let container: AnySessionContainer<Item>
  let identifier: String
  let encoder: JSONEncoder
  let decoder: JSONDecoder
  private let membership: SharedStateMembership

  init(
    container: AnySessionContainer<Item>, identifier: String, encoder: JSONEncoder,
    decoder: JSONDecoder
  ) {
    self.container = container
    self.identifier = identifier
    self.encoder = encoder
    self.decoder = decoder
    membership = SharedStateMembership(container.object.map { .container($0, identifier) })
  }

  /// Unchecked: the maker gives the item up, and one caller at a time stores it.
  private struct Commit: ItemCommit, @unchecked Sendable {
    let storage: ContainerItemStorage
    let item: Item
    let replaced: ItemVersion

    var bytes: SecretBytes? { nil }

    func callAsFunction() async throws -> ChangeOutcome {
      try storage.change(ifStored: replaced) { try storage.put(item) }
    }
  }

  var inStore: StoreItemStorage<Item>? { nil }

  private var changes: ContainerChanges { membership.state.changes }

  func joinSharedState() -> (membership: SharedStateMembership, isFinal: Bool) {
    (membership, true)
  }

  func contains() throws -> Bool { try container.containsItem(forIdentifier: identifier) }

  func contains() async throws -> Bool {
    try await container.asyncContainsItem(forIdentifier: identifier)
  }

  func load() throws -> Item? {
    try container.loadItem(forIdentifier: identifier, jsonDecoder: decoder)
  }

  func load() async throws -> sending Item? {
    try await container.asyncLoadItem(forIdentifier: identifier, jsonDecoder: decoder)
  }

  func save(_ item: Item) throws {
    try changes.make { try put(item) }
  }

  func save(_ item: sending Item) async throws {
    try await onThread(Change(storage: self, item: item))
  }

  func remove() throws {
    try changes.make { try container.removeItem(forIdentifier: identifier) }
  }

  func remove() async throws {
    try await onThread(Change(storage: self, item: nil))
  }

  private func onThread(_ change: any BlockingChange) async throws {
    try await threads.blocking { try change.make() }
  }

  private func put(_ item: Item) throws {
    try container.storeItem(item, forIdentifier: identifier, jsonEncoder: encoder)
  }

  func snapshot() async throws -> ItemSnapshot<Item>? {
    // In this order: an item that is stored in between is taken for an older one, which changes
    // nothing.
    let version = changes.version
    return try await load().map { ItemSnapshot(item: $0, version: version) }
  }

  func whileRefreshing<Value>(
    timeout: Duration,
    _ body: (Result<ItemSnapshot<Item>?, any Error>) async throws -> Value
  ) async throws -> Value {
    try await body(await unattendedResult())
  }

  func checkRoom(replacing version: ItemVersion) {}

  var leasingStore: (any LeasingStore)? { nil }

  func commit(_ item: Item, replacing version: ItemVersion) throws -> any ItemCommit {
    Commit(storage: self, item: item, replaced: version)
  }

  var recordsRejections: Bool { false }

  func recordedRejection() throws -> RecordedRejection? { nil }

  func recordedRejection() async throws -> RecordedRejection? { nil }

  func remove(
    _ version: ItemVersion, recording rejection: RecordedRejection
  ) async throws -> ChangeOutcome {
    try change(ifStored: version) { try container.removeItem(forIdentifier: identifier) }
  }

  /// Makes a change if a version is still stored; blocks, which a refresh may: it has a thread of
  /// its own.
  private func change(
    ifStored version: ItemVersion, _ body: () throws -> Void
  ) throws -> ChangeOutcome {
    try changes.make {
      guard try contains() else { return .noItem }
      guard changes.version == version else { return .otherItem }
      try body()
      return .made
    }
  }
}

/// A change without its item's type, which cannot go to another thread: a metatype is not Sendable.
private protocol BlockingChange: Sendable {
  func make() throws
}

/// Stores an item, or removes the one that is there.
///
/// Unchecked: the maker gives the item up.
private struct Change<Item: Codable>: BlockingChange, @unchecked Sendable {
  let storage: ContainerItemStorage<Item>
  let item: Item?

  func make() throws {
    if let item { try storage.save(item) } else { try storage.remove() }
  }
}

/// The changes that sessions make to an item of a container that is not on a store.
///
/// Unchecked: the lock makes it true. Recursive, so that a container may call its session back.
final class ContainerChanges: @unchecked Sendable {
  private let lock = NSRecursiveLock()
  private var count = 0

  /// The version of what is stored since the last change.
  var version: ItemVersion { lock.withLock { .change(count) } }

  /// Makes one change while no one else does.
  func make<Result>(_ body: () throws -> Result) rethrows -> Result {
    try lock.withLock {
      let result = try body()
      count += 1
      return result
    }
  }
}

/// Where containers make changes, which may block.
private let threads = BlockingExecutor(maximumThreadCount: 2)
