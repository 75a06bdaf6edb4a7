import SecretStores
import Foundation

/// Where a session's item is kept, and every way to read and change it there.
protocol ItemStorage<Item>: Sendable {
  associatedtype Item: Codable

  /// The same, if the item is in a store.
  var inStore: StoreItemStorage<Item>? { get }

  /// Joins the state that all sessions of the item share, as far as they are known to be of one
  /// item; the state is final when nothing can show later that it is another one.
  func joinSharedState() -> (membership: SharedStateMembership, isFinal: Bool)

  // MARK: What anyone asks for

  /// Returns whether there is an item.
  func contains() throws -> Bool
  /// Returns whether there is an item.
  func contains() async throws -> Bool

  /// Reads the item.
  func load() throws -> Item?
  /// Reads the item.
  func load() async throws -> sending Item?

  /// Stores an item; a refresh in any process then stores none over it.
  func save(_ item: Item) throws
  /// Stores an item; a refresh in any process then stores none over it.
  func save(_ item: sending Item) async throws

  /// Removes the item; a refresh in any process then stores none.
  func remove() throws
  /// Removes the item; a refresh in any process then stores none.
  func remove() async throws

  /// Whether it is recorded in the store when the server rejects the item.
  var recordsRejections: Bool { get }

  /// Returns what is recorded; counts only if there is no item.
  func recordedRejection() throws -> RecordedRejection?
  /// Returns what is recorded; counts only if there is no item.
  func recordedRejection() async throws -> RecordedRejection?

  // MARK: What a refresh asks for

  /// Reads the item as it is stored now.
  func snapshot() async throws -> ItemSnapshot<Item>?

  /// Runs a closure while no one else refreshes the item, with the item as it is stored then, or
  /// the error of reading it.
  ///
  /// It does not wait for a user to authenticate, because others wait for the refresh.
  func whileRefreshing<Value>(
    timeout: Duration,
    _ body: (Result<ItemSnapshot<Item>?, any Error>) async throws -> Value
  ) async throws -> Value

  /// Makes sure, as far as that can be known, that an item in the place of a version can be stored.
  func checkRoom(replacing version: ItemVersion) throws

  /// The item's store, if its exclusive access may end before its closure does.
  var leasingStore: (any LeasingStore)? { get }

  /// Prepares to store an item in the place of a version, if that is still stored.
  func commit(_ item: Item, replacing version: ItemVersion) throws -> any ItemCommit

  /// Removes the item, because the server rejected it, if it is still stored; records that in the
  /// same change, where rejections are recorded.
  func remove(
    _ version: ItemVersion, recording rejection: RecordedRejection
  ) async throws -> ChangeOutcome
}

extension ItemStorage {
  /// Reads the item as it is stored now; does not wait for a user, because others wait for the
  /// refresh.
  func unattendedSnapshot() async throws -> ItemSnapshot<Item>? {
    try await UnattendedRead.make { try await snapshot() }
  }

  /// Reads the item as ``unattendedSnapshot()``, and returns what that throws.
  func unattendedResult() async -> Result<ItemSnapshot<Item>?, any Error> {
    do { return .success(try await unattendedSnapshot()) } catch { return .failure(error) }
  }
}

/// Reads that no user has asked for.
///
/// A gate that is locked refuses them at once, also where other reads wait or prompt a user.
package enum UnattendedRead {
  /// Whether this task makes such a read.
  @TaskLocal package static var isUnderWay = false

  /// Makes one or several such reads.
  static func make<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await $isUnderWay.withValue(true, operation: body)
  }
}

/// An item as it was stored when it was read.
struct ItemSnapshot<Item> {
  let item: Item
  let version: ItemVersion
}

/// An item that is ready to be stored, once or repeatedly.
protocol ItemCommit: Sendable {
  /// The item's bytes, if they are known.
  var bytes: SecretBytes? { get }

  /// Stores it, unless the item that it replaces is no longer stored.
  func callAsFunction() async throws -> ChangeOutcome
}
