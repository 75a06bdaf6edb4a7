import Foundation
import Synchronization

/// The storage and the shared state of a session's item, found when first needed.
struct SessionResolution<Item: Codable> {
  /// Where the item is kept.
  var storage: (any ItemStorage<Item>)?
  /// The state that the session shares with other sessions of the same item.
  var membership: SharedStateMembership?
  /// Whether the shared state is certain to be that of this item.
  var isFinal = false
}

extension Session {
  /// Returns where the session's item is kept.
  ///
  /// - Throws: `invalidName`.
  func storage() throws(StoreError) -> any ItemStorage<T> {
    if let storage = resolution.withLock({ $0.storage }) { return storage }
    if let container = try container.storeContainer() {
      let storage = StoreItemStorage(
        address: try ItemAddress(storageIdentifier, in: container), coding: container.coding,
        encoder: encoder, decoder: decoder)
      resolution.withLock { $0.storage = storage }
      return storage
    }
    let joined = SharedStateMembership(
      container.object.map { .container($0, storageIdentifier) })
    return resolution.withLock { resolution in
      // Another thread may have been faster.
      if let storage = resolution.storage { return storage }
      let storage = ContainerItemStorage(
        container: container, identifier: storageIdentifier, encoder: encoder, decoder: decoder,
        changes: joined.state.changes)
      resolution = SessionResolution(storage: storage, membership: joined, isFinal: true)
      return storage
    }
  }

  /// Returns the state that this session shares with other sessions of the same item.
  ///
  /// - Throws: `invalidName`.
  func sharedState() throws(StoreError) -> SharedSessionState {
    if let state = finalState { return state }
    guard let address = try storage().inStore?.address else {
      guard let state = finalState else {
        preconditionFailure("an item of a container joins when its storage is found")
      }
      return state
    }
    let store = address.store.innermost
    // A store that cannot tell now is asked again the next time.
    let identity = (try? store.identity()) ?? nil
    let joined = SharedStateMembership(
      identity.map { .store($0, address.key) } ?? store.object.map { .object($0, address.key) })
    return resolution.withLock { resolution in
      // A membership that is not final is kept, with what it knows, until a final one is found; and
      // another thread may have been faster.
      if resolution.isFinal || identity == nil, let state = resolution.membership?.state {
        return state
      }
      (resolution.membership, resolution.isFinal) = (joined, identity != nil)
      return joined.state
    }
  }

  /// Returns the state that this session shares with other sessions of the same item.
  ///
  /// - Throws: `invalidName`.
  func sharedState() async throws(StoreError) -> SharedSessionState {
    if let state = finalState { return state }
    let session: any RefreshingSession = self
    do {
      return try await threads.queue.blocking { try session.sharedState() }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("only store errors are thrown")
    }
  }

  private var finalState: SharedSessionState? {
    resolution.withLock { $0.isFinal ? $0.membership?.state : nil }
  }

  /// Discards the remains of a refresh of the previous user.
  func forgetRefresh(_ shared: SharedSessionState) {
    shared.forgetRefresh()
    // A stale notice is harmless: it only sets `mayBeSpent` on the next request.
    try? storage().removeSpentNotice()
  }

  /// Discards the remains of a refresh of the previous user.
  func forgetRefresh(_ shared: SharedSessionState) async {
    shared.forgetRefresh()
    // A stale notice is harmless: it only sets `mayBeSpent` on the next request.
    try? await storage().removeSpentNotice()
  }
}

/// The queues on which stores return their identity, which may block.
private let threads = BlockingLanes("session-tools.session", count: 2)
