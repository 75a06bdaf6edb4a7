import Foundation
import SessionToolsBase
import SessionToolsTesting

extension BrokenStore {
  func change(_ given: [StoreChange], _ kind: CallKind) throws(StoreError) {
    if given.isEmpty {
      if defect == .failsEmptyLists { throw error(StoreError.io, "there is nothing to do") }
      if defect == .reportsWhatDidNotChange { observers.report(.changed([])) }
      return
    }
    let (value, isLocked) = (given.lazy.compactMap(\.value).first, world.isLocked.isSet)
    if !(isLocked && [.seemsEmptyWhenLocked, .takesChangesWhenLocked].contains(defect)) {
      try checkLock(showing: value)
    }
    try checkSizes(given, kind)
    var changes = given.map { $0.kept(defect) }
    if defect == .stopsReads { for change in changes { try waitForName(change.name) } }
    if kind == .async, Task.isCancelled {
      switch defect {
      case .losesCancelledChanges: return
      case .cutsCancelledLists:
        make(Array(changes.prefix(changes.count / 2)), kind)
        throw error(StoreError.cancelled, "the task was cancelled")
      case .makesWhatItCallsCancelled:
        make(changes, kind)
        throw error(StoreError.cancelled, "the task was cancelled")
      default: break
      }
    }
    try rearrange(&changes, kind)
    make(changes, kind)
  }

  private func checkSizes(_ changes: [StoreChange], _ kind: CallKind) throws(StoreError) {
    guard defect != .takesTooLargeValues else { return }
    let limit = traits.maximumValueByteCount - (defect == .refusesTheLargest ? 1 : 0)
    guard
      let position = changes.firstIndex(where: { $0.value.map { $0.byteCount > limit } ?? false })
    else { return }
    if defect == .refusesTooLargeValuesLate { make(Array(changes.prefix(position)), kind) }
    throw error(
      StoreError.valueTooLarge, "a value is too large", showing: changes[position].value)
  }

  private func rearrange(
    _ changes: inout [StoreChange], _ kind: CallKind
  ) throws(StoreError) {
    let memory = memory(kind)
    switch defect {
    case .keepsTheFirstValue:
      changes.removeAll { $0.value != nil && memory.value(for: $0.name) != nil }
    case .removesByPrefix:
      let removed = changes.filter { $0.value == nil }.map(\.name)
      changes += memory.names(in: nil).filter { name in
        removed.contains {
          name.namespace == $0.namespace && name.identifier.hasPrefix($0.identifier)
            && !removed.contains(name)
        }
      }.map { .remove($0) }
    case .ignoresRemovals: changes.removeAll { $0.value == nil }
    case .failsToRemoveAbsent:
      for change in changes where change.value == nil && memory.value(for: change.name) == nil {
        throw error(StoreError.io, "there is no such item")
      }
    case .staysRemoved:
      let removed = world.removed.update { $0 }
      changes.removeAll { removed.contains($0.name) }
    case .removesFirst:
      changes = changes.filter { $0.value == nil } + changes.filter { $0.value != nil }
    case .putsFirst:
      changes = changes.filter { $0.value != nil } + changes.filter { $0.value == nil }
    case .keepsTheFirstOfAList:
      var seen: Set<ItemName> = []
      changes.removeAll { $0.value != nil && !seen.insert($0.name).inserted }
    case .refusesTheLongestList where changes.count >= traits.maximumChangeCount:
      throw error(StoreError.valueTooLarge, "a list is too long")
    case .makesSixteenChanges: changes = Array(changes.prefix(16))
    default: break
    }
    let made = changes
    world.put.update { $0 += made.filter { $0.value != nil }.map(\.name) }
    world.removed.update { removed in
      for change in made {
        if change.value == nil { removed.insert(change.name) } else { removed.remove(change.name) }
      }
    }
  }

  private func make(_ changes: [StoreChange], _ kind: CallKind) {
    let memory = memory(kind)
    switch defect {
    case .showsPartsOfLists:
      // In any order, so that two lists that meet mix; but of several changes of one item, the last
      // decides.
      let isUnordered = Set(changes.map(\.name)).count == changes.count
      for change in isUnordered ? changes.shuffled() : changes {
        memory.apply([change])
        Thread.sleep(forTimeInterval: 0.0005)
      }
    case .losesUpdates:
      var items = memory.items
      for change in changes { items[change.name] = change.value }
      Thread.sleep(forTimeInterval: 0.001)
      memory.apply(
        memory.names(in: nil).filter { items[$0] == nil }.map { .remove($0) }
          + items.map { .put($1, for: $0) })
    case .mixesValues:
      for change in changes {
        guard let bytes = change.value?.copyBytes() else {
          memory.apply([change])
          continue
        }
        let half = bytes.count / 2
        let first = SecretBytes(Array(bytes.prefix(half)))
        world.handing.withLock { memory.apply([.put(first, for: change.name)]) }
        Thread.sleep(forTimeInterval: 0.001)
        let there = world.handing.withLock { memory.value(for: change.name) }?.copyBytes() ?? []
        memory.apply([.put(SecretBytes(there + bytes.dropFirst(half)), for: change.name)])
      }
    case .forgetsRemovals:
      known.update { known in
        for change in changes { known[change.name] = change.value == nil ? .some(nil) : nil }
      }
      memory.apply(changes.filter { $0.value != nil })
    default: memory.apply(changes)
    }
    report(changes)
  }
}

extension StoreChange {
  /// The value that is put; `nil` for a removal.
  var value: SecretBytes? {
    if case .put(let value, for: _) = self { value } else { nil }
  }

  fileprivate func kept(_ defect: Defect?) -> StoreChange {
    guard let defect else { return self }
    return switch self {
    case .put(let value, for: let name): .put(defect.kept(value), for: defect.kept(name))
    case .remove(let name): .remove(defect.kept(name))
    }
  }
}
