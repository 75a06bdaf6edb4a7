public import SecretStores
import Synchronization

extension SealedFileStore {
  /// Returns whether there is a store at a path, sound or not.
  ///
  /// `false` means that there is nothing, a directory with nothing of a store, or a creation that
  /// was interrupted before it counted: nothing that ever held an item.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied`, `unavailable` or `io`: when it is not known
  ///   whether there is a store, this does not return `false`.
  public static func exists(at path: String) throws(StoreError) -> Bool {
    let fileSystem = LinuxFileSystem()
    let path = path.withoutTrailingSlashes
    do throws(SystemCallError) {
      guard try fileSystem.status(of: path, in: .workingDirectory) != nil else { return false }
    } catch {
      throw StoreError(error, path: path)
    }
    let directory = try PrivateDirectory.ofStore(at: path, isNew: true, fileSystem: fileSystem)
    return try HeaderFiles(directory: directory).isPresent()
  }

  /// Returns the key slots of a store, which anyone who can read its files may list.
  ///
  /// - Throws: `unavailable` when there is no store, `corrupt`, `unsupportedVersion`,
  ///   `unsafePermissions`, `accessDenied` or `io`.
  public static func keySlots(at path: String) throws(StoreError) -> [KeySlot] {
    let directory = try PrivateDirectory.ofStore(at: path, fileSystem: LinuxFileSystem())
    return try HeaderFiles(directory: directory).read().header.keySlots
  }

  /// Returns the store's identifier, 32 hexadecimal digits, which anyone who can read its files may
  /// know.
  ///
  /// It never changes.
  ///
  /// - Throws: As ``keySlots(at:)``.
  public static func identifier(at path: String) throws(StoreError) -> String {
    let directory = try PrivateDirectory.ofStore(at: path, fileSystem: LinuxFileSystem())
    return try HeaderFiles(directory: directory).read().header.store.bytes.hexadecimal
  }

  /// Returns the fingerprint of the keys that this store is open with, by which the holder of a
  /// ``RecipientKey`` knows it.
  ///
  /// A revocation changes it.
  ///
  /// - Throws: `locked`, or `unavailable` when the system gives no memory.
  public func fingerprint() throws(StoreError) -> StoreFingerprint {
    try withState { open throws(StoreError) in
      try StoreFingerprint(of: open.header.store, storeKey: open.keys.storeKey)
    }
  }

  /// Returns the key slots of this store, as they are on disk now.
  ///
  /// - Throws: As ``keySlots(at:)``.
  public func keySlots() throws(StoreError) -> [KeySlot] {
    let header = try HeaderFiles(directory: directory).read().header
    listedSlots.withLock { $0 = header.slots }
    return header.keySlots
  }

  /// Returns the slots as ``keySlots()`` does, and leaves the numbers of those that were listed as
  /// they are.
  ///
  /// - Throws: As ``keySlots(at:)``.
  package func slotsOnDisk() throws(StoreError) -> [KeySlot] {
    try HeaderFiles(directory: directory).read().header.keySlots
  }

  /// Adds a key slot to the store.
  ///
  /// Only the header is rewritten, whatever the store's size.
  ///
  /// - Parameter key: The maker of the new slot.
  /// - Returns: The new slot.
  /// - Throws: `invalidKey` when there are 16 slots already or the passphrase slots would cost more
  ///   than ``Passphrase/Limits`` allow, `locked`, `timedOut`, `corrupt`,
  ///   `noSpace`, `outcomeUnknown`, `accessDenied`, `io`, or an error of the maker.
  @discardableResult
  public func addSlot(_ key: some SlotMaker) throws(StoreError) -> KeySlot {
    let slot = try key.makeSlot()
    let slots = try changeSlots { slots, storeKey throws(StoreError) in
      try slots.add(slot, from: key, wrapping: storeKey, random: environment.random)
    }
    return slots[slots.count - 1]
  }

  /// Replaces the key of a slot, such as an old passphrase by a new one.
  ///
  /// The slot is the one that had this number when this object opened the store, or listed or
  /// changed its slots last, whatever other processes have changed since.
  ///
  /// The old key, with an old copy of the header, still opens the store: to shut it out, use
  /// ``revoke(keeping:recipients:progress:confirm:)``.
  ///
  /// - Throws: `invalidKey` when there is no such slot any more, or as ``addSlot(_:)``.
  public func changeSlot(_ number: Int, to key: some SlotMaker) throws(StoreError) {
    let listed = listedSlots.withLock(\.self)
    let slot = try key.makeSlot()
    try changeSlots { slots, storeKey throws(StoreError) in
      try slots.change(
        slots.number(of: number, in: listed), to: slot, from: key, wrapping: storeKey,
        random: environment.random)
    }
  }

  /// Removes a key slot of the store.
  ///
  /// The slot is the one that had this number when this object opened the store, or listed or
  /// changed its slots last, whatever other processes have changed since.
  ///
  /// The key, with an old copy of the header, still opens the store: to shut it out, use
  /// ``revoke(keeping:recipients:progress:confirm:)``.
  ///
  /// - Throws: `invalidKey` when there is no such slot any more or it is the last one, or as
  ///   ``addSlot(_:)``.
  public func removeSlot(_ number: Int) throws(StoreError) {
    let listed = listedSlots.withLock(\.self)
    try changeSlots { slots, _ throws(StoreError) in
      try slots.remove(slots.number(of: number, in: listed))
    }
  }

  @discardableResult
  private func changeSlots(
    _ change: (inout SlotList, KeyBytes) throws(StoreError) -> Void
  ) throws(StoreError) -> [KeySlot] {
    // Another process may have changed the slots since this one read them.
    try writing(needsHeader: true) { writer throws(StoreError) in
      try withState { open throws(StoreError) in
        var header = open.header
        var slots = header.slotList(path: path)
        try change(&slots, open.keys.storeKey)
        header.slots = slots.records
        // Until both are written, the next change must make them equal.
        writer.kept.isTidy = false
        let headers = HeaderFiles(directory: directory)
        try headers.write(header, headerKey: open.keys.headerKey)
        open.header = header
        listedSlots.withLock { $0 = header.slots }
        do throws(StoreError) {
          try headers.writeCopy(header, headerKey: open.keys.headerKey)
          writer.kept.isTidy = true
        } catch {
          options.onNotice?(.headerCopyNotWritten(error.reason))
        }
        return header.keySlots
      }
    }
  }
}
