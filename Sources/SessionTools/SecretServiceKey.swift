public import SealedStore
public import SecretServiceStore
public import SessionToolsBase

/// The key of a sealed store, kept in the desktop's keyring.
///
/// ```swift
/// let key = SecretServiceKey("vault")
/// let store = try SealedFileStore.open(at: path, key: key)
/// ```
///
/// The key is 32 random bytes in an item of the Secret Service, and the store's key slot contains
/// the item's name. A copy of the store alone cannot be read; every program of the session can read
/// the key while the collection is unlocked. Without the item the slot cannot be opened: back up
/// the keyring too, or add a second slot.
///
/// Calls block their thread while they wait for the service, for at most the time in the options.
public struct SecretServiceKey: KeySource, SlotMaker {
  /// The scheme that references to such keys start with, and the colon after it.
  private static let prefix = "secret-service:"

  /// The key's name.
  public let name: String
  /// The collection it is in.
  public let collection: SecretServiceStore.Collection

  private let isMadeIfAbsent: Bool
  private let store: SecretServiceStore

  /// Names a key; does not contact the service yet.
  ///
  /// - Parameters:
  ///   - name: The key's name, not empty; with the collection's at most 4,096 bytes long.
  ///   - collection: The collection it is in.
  ///   - makeIfAbsent: Whether ``makeSlot()`` may make the key if the unlocked collection has no
  ///     key of that name. Opening a store never makes a key.
  ///   - options: How the service is used, such as whether a person may be asked.
  public init(
    _ name: String, in collection: SecretServiceStore.Collection = .default,
    makeIfAbsent: Bool = false, options: SecretServiceStore.Options = SecretServiceStore.Options()
  ) {
    self.init(
      name, isMadeIfAbsent: makeIfAbsent,
      store: SecretServiceStore(collection: collection, options: options))
  }

  package init(_ name: String, isMadeIfAbsent: Bool, store: SecretServiceStore) {
    self.name = name
    collection = store.collection
    self.isMadeIfAbsent = isMadeIfAbsent
    self.store = store
  }

  /// Names the key of a reference; `nil` if the text is not a reference to such a key.
  ///
  /// - Parameters:
  ///   - reference: The text of a key's ``reference``.
  ///   - makeIfAbsent: As ``init(_:in:makeIfAbsent:options:)``.
  ///   - options: As ``init(_:in:makeIfAbsent:options:)``.
  public init?(
    reference: String, makeIfAbsent: Bool = false,
    options: SecretServiceStore.Options = SecretServiceStore.Options()
  ) {
    guard reference.utf8.starts(with: Self.prefix.utf8) else { return nil }
    let parts = reference.unicodeScalars.dropFirst(Self.prefix.unicodeScalars.count)
      .split(separator: "/", omittingEmptySubsequences: false)
      .map { EscapedName.unescape(String($0), separator: "/") }
    switch parts.count {
    case 1:
      guard let name = parts[0], !name.isEmpty else { return nil }
      self.init(name, makeIfAbsent: makeIfAbsent, options: options)
    case 2:
      guard let collection = parts[0], let name = parts[1], !collection.isEmpty, !name.isEmpty
      else { return nil }
      self.init(name, in: .named(collection), makeIfAbsent: makeIfAbsent, options: options)
    default: return nil
    }
  }

  /// Returns the same key with other options.
  public func with(_ options: SecretServiceStore.Options) -> SecretServiceKey {
    SecretServiceKey(
      name, isMadeIfAbsent: isMadeIfAbsent,
      store: SecretServiceStore(collection: collection, options: options))
  }

  /// The same key, which ``makeSlot()`` makes if it is absent.
  public var makingIfAbsent: SecretServiceKey {
    SecretServiceKey(name, isMadeIfAbsent: true, store: store)
  }

  /// The key's name as text: `secret-service:NAME`, or `secret-service:COLLECTION/NAME`.
  ///
  /// A key slot has this text, with the last part of the collection's path as COLLECTION: it stays
  /// the same when the collection gets another label, as KeePassXC's databases do when they are
  /// locked.
  ///
  /// In both parts a slash, a percent sign, an opening brace, and characters that cannot be seen or
  /// typed are written as `%` and two hexadecimal digits for each byte.
  public var reference: String { reference(in: collection) }

  private func reference(in collection: SecretServiceStore.Collection) -> String {
    let parts = [collection.name, name].compactMap(\.self)
    return Self.prefix
      + parts.map { EscapedName.escape($0, separator: "/") }.joined(separator: "/")
  }

  /// Returns the key if the slot names it, with this collection, by any of its names; otherwise
  /// `nil`.
  ///
  /// - Throws: `keyMissing` when the collection is unlocked and has no such key; `locked`,
  ///   `promptDismissed`, `unavailable`, `timedOut`, `corrupt` or `invalidName`.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard try isNamed(in: slot) else { return nil }
    guard let key = try store.value(for: item()) else { throw try keyMissing() }
    return try WrappingKey(key)
  }

  private func isNamed(in slot: KeySlot.Parameters) throws(StoreError) -> Bool {
    guard case .namedKey(let text) = slot else { return false }
    if text == reference { return true }
    guard collection.name != nil, let other = SecretServiceKey(reference: text),
      other.collection.name != nil, other.name == name
    else { return false }
    return try store.isSameCollection(as: other.collection)
  }

  private func keyMissing() throws(StoreError) -> StoreError {
    let searched = try store.searchedCollections()
    let isOnlyPlace = searched.others.isEmpty && searched.names.count <= 1
    return StoreError(
      .keyMissing, store: reference, reason: searched.lack("such key"),
      remedy: isOnlyPlace
        ? "Restore it from a backup of the keyring, or open the store another way"
        : "Open the database or keyring that has it, or open the store another way")
  }

  /// Returns a slot for the key; first makes the key if it is absent and may be made.
  ///
  /// - Throws: As ``wrappingKey(for:)``, and `timedOut` when another process is making the key,
  ///   `outcomeUnknown`, `accessDenied`, `unsafePermissions` or `io`.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    if isMadeIfAbsent { try makeIfAbsent() }
    let name = collection.name == nil ? nil : try store.lastingName()
    let parameters = KeySlot.Parameters.namedKey(
      reference: reference(in: name.map { .named($0) } ?? .default))
    guard let key = try wrappingKey(for: parameters) else {
      preconditionFailure("the slot names this key")
    }
    return (parameters, key)
  }

  /// Removes the key from the keyring; a store that opens with no other key is lost.
  ///
  /// - Throws: As ``makeSlot()``.
  public func remove() throws(StoreError) {
    try store.remove(item())
  }

  private func item() throws(StoreError) -> ItemName {
    try ItemName(name, in: .storeKeys)
  }

  private func makeIfAbsent() throws(StoreError) {
    let item = try item()
    if try store.contains(item) { return }
    // If two callers found no key and both made one, one of them would seal a store with a key that
    // the other replaces.
    do {
      try store.withExclusiveAccess(to: item, timeout: store.options.timeout) {
        if try store.contains(item) { return }
        let bytes = ByteBuffer(byteCount: 32, isSecret: true)
        SystemRandomSource().fill(bytes, 0..<32)
        try store.put(SecretBytes(in: bytes, 0..<32), for: item)
      }
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("a store throws only StoreError: \(error)")
    }
  }
}
