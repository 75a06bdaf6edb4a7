import Foundation
import Synchronization

extension Session {
  /// Returns the session's item in its store; `nil` when the container is not on a store.
  ///
  /// - Throws: `invalidName`.
  func storeItem() throws(StoreError) -> StoreItem? {
    guard let container = try container.storeContainer() else { return nil }
    return try StoreItem(storageIdentifier, in: container)
  }

  /// Returns the place of the session's item.
  ///
  /// - Throws: `invalidName`.
  func place(_ line: SessionLine) throws(StoreError) -> any SessionPlace<T> {
    if let container = try container.storeContainer() {
      return StorePlace(
        item: try StoreItem(storageIdentifier, in: container), coding: container.coding,
        encoder: encoder, decoder: decoder)
    }
    return ContainerPlace(
      container: container, identifier: storageIdentifier, encoder: encoder, decoder: decoder,
      changes: line.changes)
  }

  /// Makes a change while no refresh, in any process, is about to store its item.
  func changing(_ line: SessionLine, _ body: () throws -> Void) throws {
    defer { line.itemHasChanged() }
    if let item = try storeItem() { try item.change(body) } else { try line.changes.make(body) }
  }

  /// Makes a change while no refresh, in any process, is about to store its item; where the
  /// container is not on a store, makes another change, which blocks.
  func changing(
    _ line: SessionLine, else change: any BlockingChange, _ body: () async throws -> Void
  ) async throws {
    defer { line.itemHasChanged() }
    if let item = try storeItem() { return try await item.change(body) }
    try await lanes.queue.blocking { try line.changes.make { try change() } }
  }

  /// Forgets the state left by a refresh of the user who was signed in.
  func forgetRefresh(_ line: SessionLine) {
    line.forgetRefresh()
    // A stale marker is harmless: it only sets `mayBeSpent` on the next request.
    try? storeItem()?.removeMark()
  }

  /// Forgets the state left by a refresh of the user who was signed in.
  func forgetRefresh(_ line: SessionLine) async {
    line.forgetRefresh()
    // A stale marker is harmless: it only sets `mayBeSpent` on the next request.
    try? await storeItem()?.removeMark()
  }

  /// Returns the state that this session shares with others of the same item.
  ///
  /// - Throws: `invalidName`.
  func line() throws(StoreError) -> SessionLine {
    if let line = finalLine { return line }
    let (identity, isFinal) = try lineIdentity()
    let joined = LineMembership(identity)
    return membership.withLock { membership in
      // A membership that is not final is kept, with its state, until there is a final one; and
      // another thread may have been faster.
      if membership.isFinal || !isFinal, let line = membership.current?.line { return line }
      membership = (joined, isFinal)
      return joined.line
    }
  }

  /// Returns the state that this session shares with others of the same item.
  ///
  /// - Throws: `invalidName`.
  func line() async throws(StoreError) -> SessionLine {
    if let line = finalLine { return line }
    let session: any RefreshingSession = self
    do {
      return try await lanes.queue.blocking { try session.line() }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("only store errors are thrown")
    }
  }

  private var finalLine: SessionLine? {
    membership.withLock { $0.isFinal ? $0.current?.line : nil }
  }

  private func lineIdentity() throws(StoreError) -> (SessionLine.Identity?, isFinal: Bool) {
    guard let item = try storeItem() else {
      return (container.object.map { .container($0, storageIdentifier) }, true)
    }
    let store = item.store.innermost
    let object = type(of: store) is AnyClass ? ObjectIdentifier(store as AnyObject) : nil
    let identity: String?
    // A store that does not know its identity now is asked again next time.
    switch store {
    case let store as any MigratableStore: identity = (try? store.identity()) ?? nil
    case let store as any IdentifiedStore: identity = (try? store.identity()) ?? nil
    default: return (object.map { .object($0, item.key) }, true)
    }
    guard let text = identity else {
      return (object.map { .object($0, item.key) }, false)
    }
    return (.store(text, item.key), true)
  }
}

/// The queues on which stores determine their identity, which may block.
private let lanes = BlockingLanes("session-tools.session", count: 2)
