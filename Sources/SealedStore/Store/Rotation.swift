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

  package func slotsToRevoke() throws(StoreError) -> SlotList {
    try withState { $0.header.slotList(path: path) }
  }

  package func revoke(
    keeping given: GivenKeys, progress: Progress?, confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Revocation {
    try writing(needsHeader: true) { writer throws(StoreError) -> Revocation in
      var slots = try self.slotsToRevoke()
      let outcome = try slots.revoke(keeping: given, random: self.random, confirm: confirm)
      guard case .revoked(let storeKey) = outcome else { return outcome }
      let records = slots.records
      try writer.usingKeys { writer, header, _ throws(StoreError) in
        try writer.rotate(from: header, slots: records, storeKey: storeKey, progress)
      }
      self.listedSlots.withLock { $0 = records }
      return outcome
    }
  }
}

extension StoreWriter {
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
