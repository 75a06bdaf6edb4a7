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
    let found: any ItemStorage<T> =
      if let container = try container.storeContainer() {
        StoreItemStorage(
          address: try ItemAddress(storageIdentifier, in: container), coding: container.coding,
          encoder: encoder, decoder: decoder)
      } else {
        ContainerItemStorage(
          container: container, identifier: storageIdentifier, encoder: encoder, decoder: decoder)
      }
    return resolution.withLock { resolution in
      // Another thread may have been faster.
      let storage = resolution.storage ?? found
      resolution.storage = storage
      return storage
    }
  }

  /// Returns the state that this session shares with other sessions of the same item.
  ///
  /// - Throws: `invalidName`.
  func sharedState() throws(StoreError) -> SharedSessionState {
    if let state = finalState { return state }
    let joined = try storage().joinSharedState()
    return resolution.withLock { resolution in
      // A membership that is not final is kept, with what it knows, until a final one is found; and
      // another thread may have been faster.
      if resolution.isFinal || !joined.isFinal, let state = resolution.membership?.state {
        return state
      }
      (resolution.membership, resolution.isFinal) = joined
      return joined.membership.state
    }
  }

  /// Returns the state that this session shares with other sessions of the same item.
  ///
  /// - Throws: `invalidName`.
  func sharedState() async throws(StoreError) -> SharedSessionState {
    if let state = finalState { return state }
    let session: any RefreshingSession = self
    return try await queues.next.blocking { () throws(StoreError) in try session.sharedState() }
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
private let queues = BlockingQueues("session-tools.session", count: 2)
