import SealedStore
import SessionToolsBase
import Synchronization

/// The platform's keychain: a sealed file store in the user's data directory, opened on first use.
///
/// Reading makes nothing: a keychain that does not exist has no items. Storing the first item
/// makes the keychain, and so does exclusive access to a name.
final class KeychainStore: BlockingConditionalStore, LocatedStore {
  let executor = BlockingExecutor(maximumThreadCount: 8)
  private let directory: Swift.Result<String, StoreError>
  private let config: KeychainContainerConfig
  private let opened = Mutex(Opened())
  /// Observers that subscribed before the store was open.
  private let early = Observers()

  private struct Opened {
    var store: SealedFileStore?
    /// Whether the store's changes are passed on to `early`.
    var isRelayed = false

    /// The store, unless it was removed while it was open.
    var usableStore: SealedFileStore? { store.flatMap { $0.isRemoved ? nil : $0 } }
  }

  init(_ config: KeychainContainerConfig) {
    self.config = config
    let name = Self.directoryName(for: config.groupName)
    directory = Swift.Result { () throws(StoreError) in
      "\(try UserDirectory.data.path)/session-tools/\(name)"
    }
  }

  /// The path of the store.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  var path: String { get throws(StoreError) { try directory.get() } }

  /// Returns a file name for any name; different names have different file names.
  ///
  /// ASCII letters, digits, `.`, `-` and `_` stand for themselves; every other byte, and a leading
  /// dot, is written as `%` and two hexadecimal digits. `keys` is escaped because it is the
  /// directory of the key files. A name that would be longer than 120 bytes ends with `~` and a
  /// hash of the whole, because file names have at most 255 bytes, and 143 in eCryptfs.
  static func directoryName(for name: String) -> String {
    if name == "keys" { return "%6Beys" }
    let encoded = PercentEncoding.encode(name) { !$0.isUnreserved || $0 == "~" }
    let file =
      encoded.utf8.first == UInt8(ascii: ".")
      ? "%2E" + String(encoded.unicodeScalars.dropFirst()) : encoded
    guard file.utf8.count > 120 else { return file }
    // Not in the middle of a byte that is written as three.
    let beginning = file.prefix(80)
    let whole = beginning.suffix(2).firstIndex(of: "%").map { beginning[..<$0] } ?? beginning
    let bytes = ByteBuffer(Array(name.utf8))
    let hash = Sodium.hash16(bytes, 0..<bytes.byteCount, key: nil)
    return "\(whole)~\(hash.hexadecimal)"
  }

  let traits = SealedFileStore.traits

  func protection() throws(StoreError) -> StoreProtection {
    try existing()?.protection()
      ?? StoreProtection("not made yet; will be sealed and \(config.protection.intention)")
  }

  /// Returns the store's identity, so that all objects of one keychain have the same.
  func identity() throws(StoreError) -> String? { try existing()?.identity() }

  func location() throws(StoreError) -> String? { try existing()?.location() }

  func value(for name: ItemName) throws(StoreError) -> SecretBytes? {
    try existing()?.value(for: name)
  }

  func contains(_ name: ItemName) throws(StoreError) -> Bool {
    try existing()?.contains(name) ?? false
  }

  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    try existing()?.names(in: namespace) ?? []
  }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    try storeToChange(by: changes)?.apply(changes)
  }

  func apply(
    _ changes: [StoreChange], if condition: ItemCondition
  ) throws(StoreError) -> ChangeOutcome {
    let outcome = condition.outcomeWithoutItem
    let store = try outcome == .made ? storeToChange(by: changes) : existing()
    // Another process may have made the keychain meanwhile, and the item: the store compares.
    return try store?.apply(changes, if: condition) ?? outcome
  }

  func checkRoom(forValueOf byteCount: Int) throws(StoreError) {
    try existing()?.checkRoom(forValueOf: byteCount)
  }

  /// Returns the store for changes; `nil` if it does not exist and they store nothing.
  private func storeToChange(
    by changes: [StoreChange]
  ) throws(StoreError) -> SealedFileStore? {
    let storesNothing = changes.allSatisfy { change in
      if case .remove = change { true } else { false }
    }
    return try storesNothing ? existing() : existingOrNew()
  }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result {
    try existingOrNew().withExclusiveAccess(to: name, timeout: timeout, body)
  }

  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result {
    // Another thread that holds the lock may be opening the store, which takes as long as its key.
    let store =
      if let store = storeIfOpen { store } else {
        try await onThread { keychain throws(StoreError) in try keychain.existingOrNew() }
      }
    return try await store.withExclusiveAccess(to: name, timeout: timeout, body)
  }

  /// Returns the store's stream of changes.
  ///
  /// If there is no store yet, the stream begins when this object finds or makes it.
  func changes() -> AsyncStream<StoreEvent> {
    if let store = storeIfOpen { return store.changes() }
    defer { openForEarlyListeners() }
    return early.stream()
  }

  /// Returns the store's stream of the changes of some names, as ``changes()``.
  func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    if let store = storeIfOpen { return store.changes(of: names) }
    defer { openForEarlyListeners() }
    return early.stream(of: names)
  }

  /// Opens the store if it exists, without blocking the caller: its key may be asked for.
  private func openForEarlyListeners() {
    executor.run { [weak self] in
      guard let self else { return }
      // If the store cannot be opened, every other operation reports why.
      _ = try? existing()
      opened.withLock { relayToEarlyListeners(&$0) }
    }
  }

  // MARK: - Opening

  /// Returns the store, or `nil` if it does not exist.
  private func existing() throws(StoreError) -> SealedFileStore? {
    try openedOr { () throws(StoreError) in
      let path = try path
      guard try SealedFileStore.exists(at: path) else { return nil }
      do throws(StoreError) {
        return try SealedFileStore.open(at: path, key: KeychainKey(forStoreAt: path, config))
      } catch let error where error.code == .wrongKey {
        throw otherSecret(than: path) ?? error
      }
    }
  }

  /// Returns the error for a keychain that opens with the app's secret alone, when the desktop has
  /// another one; `nil` for any other keychain.
  private func otherSecret(than path: String) -> StoreError? {
    guard let slots = try? SealedFileStore.keySlots(at: path),
      slots.allSatisfy({ $0.parameters.flatMap { PortalSlot($0) } != nil })
    else { return nil }
    return StoreError(
      .wrongKey, store: path,
      reason: "the desktop has another secret for this app than when the keychain was made: the "
        + "keyring was deleted, or the app's identifier changed",
      remedy: "Put the keyring back from a backup, or remove the keychain's directory, and all its "
        + "items with it")
  }

  /// Returns the store; makes it if it does not exist.
  private func existingOrNew() throws(StoreError) -> SealedFileStore {
    if let store = try existing() { return store }
    let path = try path
    try LinuxFileSystem().makeDirectories(path.parentPath)
    let made = try openedOr { () throws(StoreError) in
      do throws(StoreError) {
        return try KeychainMaker(path: path, config: config).make()
      } catch let error where error.code == .alreadyExists {
        // Another process was faster; its store is opened below.
        return nil
      }
    }
    if let made { return made }
    if let store = try existing() { return store }
    throw StoreError(
      .unavailable, store: path,
      reason: "the keychain was removed while it was being made", remedy: "Try again",
      isTransient: true)
  }

  /// The store if it is open and there; `nil` also while another thread is opening it.
  private var storeIfOpen: SealedFileStore? {
    opened.withLockIfAvailable(\.usableStore) ?? nil
  }

  private func openedOr(
    _ open: () throws(StoreError) -> SealedFileStore?
  ) throws(StoreError) -> SealedFileStore? {
    try opened.withLock { opened -> Swift.Result<SealedFileStore?, StoreError> in
      if let store = opened.usableStore { return .success(store) }
      // Another process may have removed the keychain, and perhaps made another one.
      opened = Opened()
      do throws(StoreError) {
        opened.store = try open()
        relayToEarlyListeners(&opened)
        return .success(opened.store)
      } catch {
        return .failure(error)
      }
    }.get()
  }

  private func relayToEarlyListeners(_ opened: inout Opened) {
    guard let store = opened.store, !opened.isRelayed, !early.isEmpty else { return }
    opened.isRelayed = true
    let events = store.changes()
    early.report(.resynchronize)
    Task { [weak self] in
      for await event in events {
        guard let self else { return }
        early.report(event)
      }
    }
  }
}
