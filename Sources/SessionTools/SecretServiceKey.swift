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
/// 32 random bytes, an item of the Secret Service whose name stands in the store's key slot. Who
/// has a copy of the store alone reads nothing; every program of the session reads it while the
/// collection is unlocked. Without the item nobody opens the slot: back the keyring up as well,
/// or add a second slot.
///
/// Its calls wait for the service, as long as the options say, and hold their thread.
public struct SecretServiceKey: KeySource {
  /// What references to such keys start with.
  public static let scheme = "secret-service"

  /// The key's name.
  public let name: String
  /// The collection it is in.
  public let collection: SecretServiceCollection

  private let isMadeIfAbsent: Bool
  private let store: SecretServiceStore

  /// Names a key; nothing is asked of the service yet.
  ///
  /// - Parameters:
  ///   - name: The key's name, not empty; with the collection's at most 4,096 bytes long.
  ///   - collection: The collection it is in.
  ///   - makeIfAbsent: Whether a new slot may get a new key when there is none of that name in
  ///     an unlocked collection. Opening a store never makes one.
  ///   - options: How the service is used, such as whether a person may be asked.
  public init(
    _ name: String, in collection: SecretServiceCollection = .default,
    makeIfAbsent: Bool = false, options: SecretServiceOptions = SecretServiceOptions()
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

  /// Names the key that a reference names; `nil` when that is of another kind.
  ///
  /// - Parameters:
  ///   - reference: As ``reference`` gives it.
  ///   - makeIfAbsent: As ``init(_:in:makeIfAbsent:options:)``.
  ///   - options: As ``init(_:in:makeIfAbsent:options:)``.
  public init?(
    reference: String, makeIfAbsent: Bool = false,
    options: SecretServiceOptions = SecretServiceOptions()
  ) {
    let prefix = Self.scheme + ":"
    guard reference.utf8.starts(with: prefix.utf8) else { return nil }
    let parts = reference.unicodeScalars.dropFirst(prefix.unicodeScalars.count)
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

  /// The same key, with other options.
  public func with(_ options: SecretServiceOptions) -> SecretServiceKey {
    SecretServiceKey(
      name, isMadeIfAbsent: isMadeIfAbsent,
      store: SecretServiceStore(collection: collection, options: options))
  }

  /// The same key, which a new slot makes when there is none.
  public var makingIfAbsent: SecretServiceKey {
    SecretServiceKey(name, isMadeIfAbsent: true, store: store)
  }

  /// What the slot says: `secret-service:NAME`, or `secret-service:COLLECTION/NAME`.
  ///
  /// In both parts a slash, a percent sign, and what nobody can see or type are written as `%`
  /// and two hexadecimal digits for each byte.
  public var reference: String {
    let parts = [collection.name, name].compactMap(\.self)
    return Self.scheme + ":"
      + parts.map { EscapedName.escape($0, separator: "/") }.joined(separator: "/")
  }

  /// The key, when the slot is for one of this name and collection.
  ///
  /// - Throws: `keyMissing` when the collection is unlocked and has no such key; `locked`,
  ///   `promptDismissed`, `unavailable`, `timedOut`, `corrupt` or `invalidName`.
  public func wrappingKey(for slot: KeySlotParameters) throws(StoreError) -> WrappingKey? {
    guard slot == .namedKey(reference: reference) else { return nil }
    guard let key = try store.value(for: item()) else {
      throw StoreError(
        StoreError.keyMissing, store: reference, reason: "the keyring has no such key",
        remedy: "Bring it back from a backup of the keyring, or open the store another way")
    }
    return try WrappingKey(key)
  }

  /// A slot for the key; a new key, if there is none and one may be made.
  ///
  /// - Throws: As ``wrappingKey(for:)``, and `timedOut` when another process is at it,
  ///   `outcomeUnknown`, `accessDenied`, `unsafePermissions` or `io`.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlotParameters, key: WrappingKey) {
    if isMadeIfAbsent { try makeIfAbsent() }
    let parameters = KeySlotParameters.namedKey(reference: reference)
    guard let key = try wrappingKey(for: parameters) else {
      preconditionFailure("it is the slot of this key")
    }
    return (parameters, key)
  }

  /// Removes the key from the keyring: what it alone opens is lost.
  ///
  /// - Throws: As ``makeSlot()``.
  public func remove() throws(StoreError) {
    try store.remove(item())
  }

  private func item() throws(StoreError) -> StoreKey {
    try StoreKey(name, in: .storeKeys)
  }

  private func makeIfAbsent() throws(StoreError) {
    let item = try item()
    if try store.contains(item) { return }
    // Of two that find none, one would seal a store with a key that the other replaces.
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
      preconditionFailure("a store throws its errors alone: \(error)")
    }
  }
}
