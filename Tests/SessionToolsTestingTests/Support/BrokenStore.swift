import SessionToolsBase
import SessionToolsTesting
import Synchronization

typealias CallKind = StoreConformance.CallKind

/// A store with one defect or without.
final class BrokenStore: SecretStore {
  let defect: Defect?
  let world: BrokenWorld
  /// The values that only this object knows.
  let known = Shared<[ItemName: SecretBytes?]>([:])
  let ownNames = NameLocks<ItemName>(store: "broken")
  let observers = Observers()
  let number = count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)
  /// The names that the task or thread holds, for a store that grants them again.
  @TaskLocal static var held: Set<ItemName> = []

  private let relay: Task<Void, Never>?

  init(_ defect: Defect?, _ world: BrokenWorld = BrokenWorld()) {
    self.defect = defect
    self.world = world
    guard defect == .reportsOneListener || defect == .endsAllListeners else {
      relay = nil
      return
    }
    relay = Task.detached { [observers, events = world.memory.changes()] in
      for await event in events { observers.report(event) }
    }
  }

  deinit {
    relay?.cancel()
  }

  /// Returns a store for a check.
  static func underTest(_ defect: Defect?) -> StoreUnderTest {
    let world = BrokenWorld()
    let store = BrokenStore(defect, world)
    let reporting = Weak(store)
    return StoreUnderTest(
      store, reopen: { BrokenStore(defect, defect == .forgetsAll ? BrokenWorld() : world) },
      lock: {
        world.isLocked.isSet = true
        if defect == .losesAllWhenLocked {
          world.memory.apply(world.memory.names(in: nil).map { .remove($0) })
        }
      },
      unlock: {
        world.isLocked.isSet = false
        if defect != .reportsNoUnlocking { reporting.value?.observers.report(.resynchronize) }
      })
  }

  var traits: StoreTraits {
    StoreTraits(
      isAtomic: true, isDurable: false, seesOtherProcesses: true, excludesOtherProcesses: true,
      maximumValueByteCount: BrokenWorld.maximumValueByteCount,
      maximumChangeCount: BrokenWorld.maximumChangeCount)
  }

  func protection() -> StoreProtection {
    StoreProtection(defect == .saysNothingOfProtection ? "" : "nothing")
  }

  func memory(_ kind: CallKind) -> MemoryStore {
    defect == .keepsTwoMemories && kind == .async ? world.otherMemory : world.memory
  }

  func checkLock(showing value: SecretBytes? = nil) throws(StoreError) {
    guard world.isLocked.isSet else { return }
    throw error(StoreError.locked, "it is locked", showing: value)
  }

  func error(
    _ code: StoreError.Code, _ reason: String, showing value: SecretBytes? = nil
  ) -> StoreError {
    var reason = reason
    if defect == .showsValues, let value {
      reason += " for \(String(decoding: value.copyBytes().prefix(100), as: UTF8.self))"
    }
    return StoreError(code, store: defect == .namesNoStore ? "" : "broken", reason: reason)
  }

}

// MARK: - Both kinds of calls

extension BrokenStore {
  func value(for name: ItemName) throws(StoreError) -> SecretBytes? { try read(name, .blocking) }
  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes? {
    try read(name, .async)
  }
  func contains(_ name: ItemName) throws(StoreError) -> Bool { try isThere(name, .blocking) }
  func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool {
    try isThere(name, .async)
  }
  func apply(_ changes: [StoreChange]) throws(StoreError) { try change(changes, .blocking) }
  func asyncApply(_ changes: [StoreChange]) async throws(StoreError) {
    try change(changes, .async)
  }
  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try list(namespace, .blocking)
  }
  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName] {
    try list(namespace, .async)
  }
}

// MARK: - Migration

extension BrokenStore: MigratableStore {
  func identity() -> String? {
    switch defect {
    case .hasTheIdentityOfAll: "broken"
    case .hasTheIdentityOfTheObject: "\(world.identity), \(number)"
    default: world.identity
    }
  }

  func listing() throws(StoreError) -> StoreListing {
    let names = try names(in: nil)
    return StoreListing(
      names: defect == .listsHalf ? Array(names.prefix(names.count / 2)) : names)
  }

  func values(ofFirst names: ArraySlice<ItemName>) throws(StoreError) -> [SecretBytes?] {
    var values: [SecretBytes?] = []
    for name in names.prefix(8) { values.append(try value(for: name)) }
    return defect == .mixesUpValues ? values.reversed() : values
  }
}
