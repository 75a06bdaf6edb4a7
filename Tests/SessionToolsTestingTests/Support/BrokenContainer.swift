import Foundation
import SessionToolsBase
import SessionToolsTesting

/// A container with one defect or without.
final class BrokenContainer: StoreBackedContainer {
  private let defect: ContainerDefect?
  private let items: BrokenItems
  /// The identifiers that this object removed.
  private let removed = Shared<Set<String>>([])
  private let listeners = Shared<[AsyncStream<Void>.Continuation]>([])

  init(_ defect: ContainerDefect?, _ items: BrokenItems) {
    self.defect = defect
    self.items = items
  }

  /// Returns a container for a check.
  static func underTest(_ defect: ContainerDefect?) -> ContainerUnderTest<String> {
    let items = BrokenItems()
    let container = BrokenContainer(defect, items)
    return ContainerUnderTest(
      container, items: ("first", "second"),
      reopen: { BrokenContainer(defect, defect == .forgetsAll ? BrokenItems() : items) },
      lock: {
        if defect == .losesAllWhenLocked {
          try await items.store.apply(items.store.names(in: nil).map { .remove($0) })
        }
        items.store.lock()
      },
      unlock: { items.store.unlock() },
      damage: { identifier in
        let name = try ItemName(identifier, in: BrokenItems.namespace)
        try await items.store.put(SecretBytes(utf8: "damaged"), for: name)
      })
  }

  private var inside: StoreContainer<String> {
    StoreContainer(items.store, namespace: BrokenItems.namespace)
  }

  private var other: StoreContainer<String> {
    StoreContainer(items.otherStore, namespace: BrokenItems.namespace)
  }

  func storeContainer() throws(StoreError) -> StoreContainer<String> {
    defect == .hasAnotherStore ? other : inside
  }

  private func kept(_ identifier: String) -> String { defect?.kept(identifier) ?? identifier }

  // MARK: - Reading

  func hasItem(forIdentifier identifier: String) -> Bool {
    switch defect {
    case .saysThatNothingIsThere: false
    case .saysThatEverythingIsThere: true
    // The old method cannot report an error.
    default: (try? isThere(identifier)) ?? false
    }
  }

  private func isThere(_ identifier: String) throws -> Bool {
    if defect == .forgetsRemovals, removed.current.contains(identifier) { return false }
    if defect == .givesAnItemForAbsent { return try inside.containsItem(forIdentifier: identifier) }
    return try inside.containsItem(forIdentifier: kept(identifier))
  }

  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> String? {
    let identifier = kept(identifier)
    if defect == .seemsEmptyWhenLocked, items.store.isLocked { return nil }
    if defect == .forgetsRemovals, removed.current.contains(identifier) { return nil }
    let item = try inside.item(forIdentifier: identifier)
    switch defect {
    case .givesAnItemForAbsent: return item ?? "first"
    case .removesWhatIsRead: try inside.removeItem(forIdentifier: identifier)
    case .makesWhatIsRead:
      if item == nil { try inside.storeItem("first", forIdentifier: identifier) }
    default: break
    }
    return item
  }

  func containsItem(forIdentifier identifier: String) throws -> Bool {
    if defect == .seemsEmptyToNewerCalls, items.store.isLocked { return false }
    if defect == .readsAnotherMemory { return try other.containsItem(forIdentifier: identifier) }
    return try isThere(identifier)
  }

  func loadItem(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> String? {
    switch defect {
    case .seemsEmptyToNewerCalls where items.store.isLocked: return nil
    case .readsAnotherMemory: return try other.item(forIdentifier: identifier)
    case .removesDamaged:
      do {
        return try item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
      } catch StoreError.undecodable {
        try inside.removeItem(forIdentifier: identifier)
        return nil
      }
    default: return try item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
    }
  }

  // MARK: - Changing

  func storeItem(
    _ item: String, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) throws {
    let identifier = kept(identifier)
    switch defect {
    case .keepsTheFirstItem: if try isThere(identifier) { return }
    case .staysRemoved: if removed.current.contains(identifier) { return }
    case .losesUpdates:
      let there = try items.store.names(in: nil)
      Thread.sleep(forTimeInterval: 0.001)
      try items.store.apply(
        try items.store.names(in: nil).filter { !there.contains($0) }.map { .remove($0) })
    default: break
    }
    removed.update { if defect == .forgetsRemovals { $0.remove(identifier) } }
    try inside.storeItem(
      defect == .changesItems ? item.uppercased() : item, forIdentifier: identifier)
    report(isRemoval: false)
  }

  func removeItem(forIdentifier identifier: String) throws {
    let identifier = kept(identifier)
    switch defect {
    case .ignoresRemovals: return
    case .failsToRemoveAbsent:
      if try !isThere(identifier) {
        throw StoreError(.io, store: "broken", reason: "there is no such item")
      }
    case .forgetsRemovals:
      removed.update { _ = $0.insert(identifier) }
      return report(isRemoval: true)
    case .staysRemoved: removed.update { _ = $0.insert(identifier) }
    default: break
    }
    try inside.removeItem(forIdentifier: identifier)
    report(isRemoval: true)
  }

  func asyncContainsItem(forIdentifier identifier: String) async throws -> Bool {
    try await onThread { try self.containsItem(forIdentifier: identifier) }
  }

  func asyncLoadItem(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder
  ) async throws -> sending String? {
    try await onThread {
      try self.loadItem(forIdentifier: identifier, jsonDecoder: JSONDecoder())
    }
  }

  func asyncRemoveItem(forIdentifier identifier: String) async throws {
    try await onThread { try self.removeItem(forIdentifier: identifier) }
  }

  func asyncStoreItem(
    _ item: sending String, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) async throws {
    guard defect == .keepsTwoMemories else {
      return try await onThread { [item] in
        try self.storeItem(item, forIdentifier: identifier, jsonEncoder: JSONEncoder())
      }
    }
    try await other.asyncStoreItem(item, forIdentifier: identifier)
  }

  // MARK: - Reporting

  private func report(isRemoval: Bool) {
    if defect == .reportsNoRemovals, isRemoval { return }
    for listener in listeners.current { listener.yield() }
  }

  func itemChanges(forIdentifier identifier: String) -> AsyncStream<Void> {
    switch defect {
    case .reportsNothing: return AsyncStream { _ in }
    case .reportsNoRemovals, .reportsOwnChanges, .reportsOneListener,
      .reportsNothingToLateListeners:
      let (stream, continuation) = AsyncStream.makeStream(
        of: Void.self,
        bufferingPolicy: defect == .reportsNothingToLateListeners ? .bufferingNewest(0) : .unbounded
      )
      listeners.update { listeners in
        if defect == .reportsOneListener { listeners = [] }
        listeners.append(continuation)
      }
      return stream
    case .ignoresCancelledListeners:
      let reported = Shared(0)
      let events = inside.itemChanges(forIdentifier: identifier)
      Task.detached { for await _ in events { reported.update { $0 += 1 } } }
      return AsyncStream(unfolding: {
        // This task is never cancelled.
        await Task.detached {
          while reported.update({ $0 == 0 }) { try? await Task.sleep(for: .milliseconds(1)) }
          reported.update { $0 -= 1 }
        }.value
      })
    default: return inside.itemChanges(forIdentifier: kept(identifier))
    }
  }
}

/// The stores that containers of the same items share.
final class BrokenItems: Sendable {
  static let namespace: StoreNamespace = "broken"

  let store = FaultyStore(MemoryStore())
  let otherStore = FaultyStore(MemoryStore())
}
