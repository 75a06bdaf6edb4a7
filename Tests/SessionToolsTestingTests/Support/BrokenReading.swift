import Foundation
import SessionToolsBase
import SessionToolsTesting

extension BrokenStore {
  func read(_ key: StoreKey, _ kind: CallKind) throws(StoreError) -> SecretBytes? {
    let key = defect?.kept(key) ?? key
    if defect == .looksEmptyWhenLocked, world.isLocked.isSet { return nil }
    try checkLock()
    if defect == .readsNilWhenCancelled, kind == .async, Task.isCancelled { return nil }
    if defect == .stopsReads { try waitForName(key) }
    let value = memory(kind).value(for: key)
    switch defect {
    case .makesWhatIsRead:
      if value == nil { world.memory.apply([.put(SecretBytes([UInt8]()), for: key)]) }
    case .removesWhatIsRead: world.memory.apply([.remove(key)])
    case .readsWhatItKnows:
      return known.update { known in
        if let first = known[key] { return first }
        known[key] = .some(value)
        return value
      }
    case .forgetsRemovals:
      // Only the object that removed it knows that.
      if case .some(.none) = known.update({ $0[key] }) { return nil }
    default: break
    }
    guard let defect else { return value }
    return defect.read(value)
  }

  func isThere(_ key: StoreKey, _ kind: CallKind) throws(StoreError) -> Bool {
    if defect == .containsForGood {
      try checkLock()
      return world.put.update { $0.contains(key) }
    }
    if defect == .takesEmptyForAbsent || defect == .givesEmptyForAbsent {
      try checkLock()
      return memory(kind).value(for: key) != nil
    }
    return try read(key, kind) != nil
  }

  func list(_ namespace: StoreNamespace?, _ kind: CallKind) throws(StoreError) -> [StoreKey] {
    if defect == .looksEmptyWhenLocked, world.isLocked.isSet { return [] }
    try checkLock()
    var keys = memory(kind).keys(in: nil)
    switch defect {
    case .forgetsRemovals:
      keys = known.update { known in
        keys.filter { if case .some(.none) = known[$0] { false } else { true } }
      }
    case .listsTwice: keys = world.put.update { $0.filter(keys.contains).sorted() }
    case .listsRemoved:
      keys = (keys + world.removed.update { $0.subtracting(keys) }).sorted()
    case .listsInNoOrder: keys.reverse()
    case .listsNamespacesInNoOrder: if namespace != nil { keys.reverse() }
    case .failsToListNothing:
      if keys.isEmpty { throw error(StoreError.io, "there is nothing") }
    case .listsComposedNames:
      keys = keys.map { key in
        let name = key.identifier.precomposedStringWithCanonicalMapping
        return (try? StoreKey(name, in: key.namespace)) ?? key
      }
    default: break
    }
    guard let namespace, defect != .listsAllNamespaces else { return keys }
    let kept = (try? StoreKey("any", in: namespace)).map { defect?.kept($0) ?? $0 }
    return keys.filter { key in
      defect == .findsNamespacesByPrefix
        ? key.namespace.service.hasPrefix(namespace.service)
        : key.namespace == kept?.namespace
    }
  }
}
