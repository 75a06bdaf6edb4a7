public import SecretStores
import Synchronization

extension SealedFileStore {
  /// Seals everything again with a new random data key.
  ///
  /// All slots still open the store. Blocks the thread as ``compact(progress:)`` does.
  ///
  /// - Throws: As ``compact(progress:)``.
  public func rotate(progress: Progress? = nil) throws(StoreError) {
    try writing(needsHeader: true) { writer throws(StoreError) in
      try writer.usingKeys { writer, header, keys throws(StoreError) in
        try writer.rotate(from: header, slots: header.slots, storeKey: keys.storeKey, progress)
      }
    }
  }

  /// The slots that a revocation keeps and drops.
  public struct RevocationPlan: Hashable, Sendable {
    /// The slots whose keys were given: they still open the store.
    public let kept: [KeySlot]
    /// All other slots: they no longer open the store, not even with an old copy of the header.
    public let dropped: [KeySlot]

    package init(_ slots: [KeySlot], keeping kept: Set<Int>) {
      self.kept = slots.filter { kept.contains($0.number) }
      dropped = slots.filter { !kept.contains($0.number) }
    }
  }

  /// Shuts out every key that is not given here, with a new store key and a new data key with which
  /// everything is sealed again.
  ///
  /// A copy of the store that was made before stays readable for anyone who has it and a key that
  /// opened it. Blocks the thread as ``compact(progress:)`` does.
  ///
  /// - Parameters:
  ///   - sources: The keys that still open the store afterwards; each must open a slot.
  ///   - recipients: The recipients whose keys still open it; each must have a slot, and gets a new
  ///     one in its place.
  ///   - progress: Receives the progress of sealing everything again.
  ///   - confirm: Receives the slots that are kept and dropped before anything happens, and
  ///     returns whether to continue. Other processes that write wait meanwhile, so do not ask a
  ///     person here: make a first call that returns `false`, and ask after that. Do not call the
  ///     store from it.
  /// - Returns: Whether the keys were revoked.
  /// - Throws: `wrongKey` when a source opens no slot or a recipient has none, `invalidKey` when
  ///   there is neither, an error of a source, or as ``compact(progress:)``.
  @discardableResult
  public func revoke(
    keeping sources: [any KeySource], recipients: [Recipient] = [], progress: Progress? = nil,
    confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Bool {
    var given = GivenKeys(of: sources, recipients)
    // In a locked store or a forked child this fails before any source is asked for a key.
    var header = try withState { $0.header }
    while true {
      // This is without the writer's lock, because a source may take long, and may ask a person.
      try given.ask(for: header.slotList(path: path))
      let outcome = try writing(needsHeader: true) { writer throws(StoreError) -> Revocation in
        let current = try self.withState { $0.header }
        guard given.haveAnswered(for: current.slotList(path: self.path)) else {
          return .slotsWereAdded(current)
        }
        return .ended(try writer.revoke(keeping: given, current, progress, confirm))
      }
      switch outcome {
      case .ended(let isDone): return isDone
      case .slotsWereAdded(let current): header = current
      }
    }
  }

  private enum Revocation {
    case ended(Bool)
    /// Another process added slots after the sources were asked.
    case slotsWereAdded(Header)
  }
}

extension StoreWriter {
  fileprivate mutating func revoke(
    keeping given: GivenKeys, _ header: Header, _ progress: SealedFileStore.Progress?,
    _ confirm: (SealedFileStore.RevocationPlan) -> Bool
  ) throws(StoreError) -> Bool {
    let storeKey = try KeyBytes()
    environment.random.fill(storeKey)
    var slots = header.slotList(path: path)
    let kept = try given.rewrap(storeKey, in: slots, random: environment.random)
    let plan = SealedFileStore.RevocationPlan(slots.keySlots, keeping: Set(kept.keys))
    guard confirm(plan) else { return false }
    slots.keep(kept)
    let records = slots.records
    try usingKeys { writer, header, _ throws(StoreError) in
      try writer.rotate(from: header, slots: records, storeKey: storeKey, progress)
    }
    store.listedSlots.withLock { $0 = records }
    return true
  }

  /// Runs a closure while the keys in memory are in use, and wipes them if the closure replaced
  /// them.
  fileprivate mutating func usingKeys(
    _ body: (inout StoreWriter, Header, KeyRing) throws(StoreError) -> Void
  ) throws(StoreError) {
    let (header, keys) = try store.withState { open in
      open.keys.beginUse()
      return (open.header, open.keys)
    }
    defer {
      keys.endUse()
      if store.state.withLock({ $0?.keys !== keys }) { keys.wipe() }
    }
    try body(&self, header, keys)
  }

  fileprivate mutating func rotate(
    from header: Header, slots: [SlotRecord], storeKey: KeyBytes,
    _ progress: SealedFileStore.Progress?
  ) throws(StoreError) {
    let dataKey = try KeyBytes()
    environment.random.fill(dataKey)
    let keys = try KeyRing(storeKey: storeKey, dataKey: dataKey)
    // Once they are in the state, locking the store would wipe them while headers are written.
    keys.beginUse()
    defer { keys.endUse() }
    let old = try store.withState { open throws(StoreError) in
      try open.usableJournal().mark
    }
    var header = Header(store: header.store, slots: slots, wrappedDataKey: [])
    header.wrapDataKey(dataKey, with: keys.storeKey, random: environment.random)
    func rotated(_ journal: OpenState.Journal) -> OpenState {
      var rotated = OpenState(header: header, keys: keys, slot: nil, journal: journal, mark: nil)
      rotated.isRotationPending = true
      rotated.furthest = old
      return rotated
    }

    // If this fails and the files that it wrote cannot be removed, the next change removes them.
    kept.isTidy = false
    // The new header is durable before the journal that needs it can count.
    try writeNextHeader(header, headerKey: keys.headerKey)
    let view: JournalView
    do throws(StoreError) {
      view = try rewriteJournal(
        after: try durableMark(), version: old.version, store: header.store, keys: keys,
        progress: progress)
      try install(view, after: old)
    } catch {
      if error.code == .outcomeUnknown {
        // The new journal is in its place, though perhaps not permanently, and needs this header
        // and these keys.
        store.withStateIfOpen { $0 = rotated(.unusable(error)) }
      } else {
        directory.discard(StoreFile.headerNext)
      }
      throw error
    }
    // This precedes the headers, so that other threads of this process never look for the new keys.
    do throws(StoreError) {
      try confirm(view, keys: keys) { $0 = rotated(.usable(view)) }
    } catch {
      store.withStateIfOpen { $0 = rotated(.unusable(error)) }
      options.onNotice?(.rotationNotFinished(error.reason))
      return
    }
    do throws(StoreError) {
      try installHeader(header, headerKey: keys.headerKey)
      kept.isTidy = true
      store.withStateIfOpen { $0.isRotationPending = false }
    } catch {
      // The rotation counts, so it did not fail; the next change does the rest.
      options.onNotice?(.rotationNotFinished(error.reason))
    }
  }

  private func writeNextHeader(_ header: Header, headerKey: KeyBytes) throws(StoreError) {
    do throws(StoreError) {
      let file = try directory.create(StoreFile.headerNext)
      let content = header.encoded(headerKey: headerKey)
      try file.write(content, 0..<content.byteCount, at: 0)
      try file.synchronize()
      try directory.synchronize()
    } catch {
      directory.discard(StoreFile.headerNext)
      throw error
    }
  }
}
