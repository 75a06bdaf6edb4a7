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

  /// Returns the fingerprint of the keys that this store is open with.
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
}

extension SealedFileStore: SlotChanging {
  package var name: String { path }

  package var random: any RandomSource { environment.random }

  package var numberedSlots: [SlotRecord] { listedSlots.withLock(\.self) }

  @discardableResult
  package func changeSlots(
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
