import Foundation
import SessionToolsBase
import SessionToolsTesting

extension BrokenStore {
  func read(_ name: ItemName, _ kind: CallKind) throws(StoreError) -> SecretBytes? {
    let name = defect?.kept(name) ?? name
    if defect == .seemsEmptyWhenLocked, world.isLocked.isSet { return nil }
    try checkLock()
    if defect == .readsNilWhenCancelled, kind == .async, Task.isCancelled { return nil }
    if defect == .stopsReads { try waitForName(name) }
    let value = memory(kind).value(for: name)
    switch defect {
    case .makesWhatIsRead:
      if value == nil { world.memory.apply([.put(SecretBytes([UInt8]()), for: name)]) }
    case .removesWhatIsRead: world.memory.apply([.remove(name)])
    case .readsWhatItKnows:
      return known.update { known in
        if let first = known[name] { return first }
        known[name] = .some(value)
        return value
      }
    case .forgetsRemovals:
      // Only the object that removed it knows that.
      if case .some(.none) = known.update({ $0[name] }) { return nil }
    default: break
    }
    guard let defect else { return value }
    return defect.read(value)
  }

  func isThere(_ name: ItemName, _ kind: CallKind) throws(StoreError) -> Bool {
    if defect == .containsForGood {
      try checkLock()
      return world.put.update { $0.contains(name) }
    }
    if defect == .takesEmptyForAbsent || defect == .givesEmptyForAbsent {
      try checkLock()
      return memory(kind).value(for: name) != nil
    }
    return try read(name, kind) != nil
  }

  func list(_ namespace: StoreNamespace?, _ kind: CallKind) throws(StoreError) -> [ItemName] {
    if defect == .seemsEmptyWhenLocked, world.isLocked.isSet { return [] }
    try checkLock()
    var names = memory(kind).names(in: nil)
    switch defect {
    case .forgetsRemovals:
      names = known.update { known in
        names.filter { if case .some(.none) = known[$0] { false } else { true } }
      }
    case .listsTwice: names = world.put.update { $0.filter(names.contains).sorted() }
    case .listsRemoved:
      names = (names + world.removed.update { $0.subtracting(names) }).sorted()
    case .listsInNoOrder: names.reverse()
    case .listsNamespacesInNoOrder: if namespace != nil { names.reverse() }
    case .failsToListNothing:
      if names.isEmpty { throw error(StoreError.io, "there is nothing") }
    case .listsComposedNames:
      names = names.map { itemName in
        let name = itemName.identifier.precomposedStringWithCanonicalMapping
        return (try? ItemName(name, in: itemName.namespace)) ?? itemName
      }
    default: break
    }
    guard let namespace, defect != .listsAllNamespaces else { return names }
    let kept = (try? ItemName("any", in: namespace)).map { defect?.kept($0) ?? $0 }
    return names.filter { itemName in
      defect == .findsNamespacesByPrefix
        ? itemName.namespace.service.hasPrefix(namespace.service)
        : itemName.namespace == kept?.namespace
    }
  }
}
