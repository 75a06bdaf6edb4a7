import Foundation
import Synchronization

/// What a session finds out about its item once, when it is first needed.
struct SessionResolution<Item: Codable> {
  /// Where the item is kept.
  var storage: (any ItemStorage<Item>)?
  /// What the session shares with other sessions of the same item.
  var membership: SharedStateMembership?
  /// Whether it is known for certain which item that is.
  var isFinal = false
}

extension Session {
  /// Where the session's item is kept.
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

  /// What this session shares with other sessions of the same item.
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
    let object = type(of: store) is AnyClass ? ObjectIdentifier(store as AnyObject) : nil
    let joined = SharedStateMembership(
      identity.map { .store($0, address.key) } ?? object.map { .object($0, address.key) })
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

  /// What this session shares with other sessions of the same item.
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

  /// Forgets what a refresh of the previous user has left.
  func forgetRefresh(_ shared: SharedSessionState) {
    shared.forgetRefresh()
    // A stale notice is harmless: it only sets `mayBeSpent` on the next request.
    try? storage().removeSpentNotice()
  }

  /// Forgets what a refresh of the previous user has left.
  func forgetRefresh(_ shared: SharedSessionState) async {
    shared.forgetRefresh()
    // A stale notice is harmless: it only sets `mayBeSpent` on the next request.
    try? await storage().removeSpentNotice()
  }
}

/// Where stores are asked for their identity, which may block.
private let threads = BlockingLanes("session-tools.session", count: 2)
