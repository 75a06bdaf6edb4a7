public import SecretStores
import Synchronization

extension SealedFileStore: SealedSecretStore {
  /// Whether the keys were wiped from memory.
  ///
  /// `true` in a forked child, which cannot use the store.
  public var isLocked: Bool {
    isInForkedChild || state.withLock { $0 == nil }
  }

  /// Whether the system keeps the pages with the keys out of swap; `false` while locked.
  public var isKeyMemoryLocked: Bool {
    !isInForkedChild && state.withLock { $0?.keys.isMemoryLocked ?? false }
  }

  /// Wipes the keys from memory.
  ///
  /// Until the store is unlocked, everything that needs them throws `locked`.
  ///
  /// It compacts the journal first when 256 KiB of it, and more than half, are superseded or
  /// removed: removed values do not stay on the disk longer than necessary.
  ///
  /// It waits for reads and the one change that are under way. The index, which has no names, is
  /// released, too, and so are names that a list kept; Swift's strings cannot be wiped. Locking a
  /// locked store does nothing. In a forked child this does nothing either, because it would wait
  /// for threads of the parent; the child's memory is gone when the child ends.
  public func lock() {
    guard !isInForkedChild else { return }
    compactBeforeLocking()
    let keys = state.withLock { $0.take()?.keys }
    keys?.wipe()
  }

  /// Opens a locked store again, and rereads its files.
  ///
  /// Nothing happens when it is unlocked.
  ///
  /// - Throws: As ``open(at:key:options:)``.
  public func unlock(with key: some KeySource) throws(StoreError) {
    guard isLocked else { return }
    // In a forked child no key helps, and this throws.
    if isInForkedChild { try checkIsOpen() }
    let opened = try loader.open(by: .source(key))
    if !opened.keys.isMemoryLocked { options.onNotice?(.keyMemoryNotLocked) }
    // This waits for a thread that writes, which uses the state again after refreshing it.
    let unused = writer.withLock { _ in
      state.withLock { slot -> KeyRing? in
        guard slot == nil else { return opened.keys }
        slot = opened
        return nil
      }
    }
    // Another thread unlocked the store first; its keys are used, and these are wiped.
    unused?.wipe()
    watcher.requestResynchronization()
  }

  /// The traits of every sealed store: atomic, durable, shared with other processes, values of up
  /// to 16 MiB, and lists of up to 100,000 changes and 512 MiB.
  ///
  /// Sealed, such a list is not longer than ``maximumChangeByteCount``: a value gets at most 12 %
  /// longer, a removal is counted with 4 KiB, and a record has less than 256 bytes beside them.
  package static let traits = StoreTraits(
    isAtomic: true, isDurable: true, seesOtherProcesses: true, excludesOtherProcesses: true,
    maximumValueByteCount: maximumValueByteCount, maximumChangeCount: 100_000,
    maximumListByteCount: maximumChangeByteCount / 2)

  /// The store's traits: atomic, durable, shared with other processes, values of up to 16 MiB,
  /// lists of up to 100,000 changes and 512 MiB.
  public var traits: StoreTraits { Self.traits }

  /// Returns the keys that open the store, as they are on disk now; the weakest determines what
  /// someone with the disk needs.
  ///
  /// - Throws: As ``keySlots()``.
  public func protection() throws(StoreError) -> StoreProtection {
    StoreProtection(sealedFor: try slotsOnDisk())
  }
}
