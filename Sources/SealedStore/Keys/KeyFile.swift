public import SecretStores

/// A file of exactly 32 bytes, with mode 0600 and owned by the user.
///
/// Keep it apart from the store: anyone who has both can open the store.
public struct KeyFile: KeySource, SlotMaker {
  /// The path of the file.
  public let path: String
  private let isMadeIfAbsent: Bool

  /// Names a key file, which is read each time a store is opened with it.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - makeIfAbsent: Whether a missing file is made for a new store or slot. It is never made
  ///     when a store is opened: a lost key cannot be made again.
  public init(_ path: String, makeIfAbsent: Bool = false) {
    self.path = path
    isMadeIfAbsent = makeIfAbsent
  }

  /// Makes a new file with a random key.
  ///
  /// It is durable when this returns.
  ///
  /// - Throws: `alreadyExists`, `accessDenied`, `noSpace` or `io`.
  public static func create(at path: String) throws(StoreError) -> KeyFile {
    try SecretFile.create(path, content: RawKey.random())
    return KeyFile(path)
  }

  /// Returns the file's key for every raw key slot, whatever its label.
  ///
  /// - Throws: `keyMissing` when there is no such file, `unsafePermissions` when others could
  ///   read or write it, `invalidKey` when it does not have exactly 32 bytes, or `io`.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard case .rawKey = slot else { return nil }
    return try key(for: .opening)
  }

  /// Returns a raw key slot with the label "key file", after making the file if that was requested.
  ///
  /// - Throws: As ``wrappingKey(for:)`` and ``create(at:)``.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    if isMadeIfAbsent {
      do throws(StoreError) {
        _ = try Self.create(at: path)
      } catch let error where error.code == .alreadyExists {
        // An earlier store, or another process just now, made the file.
      }
    }
    return (.rawKey(label: "key file"), try key(for: .newSlot))
  }

  private func key(for use: WrappingKey.Use) throws(StoreError) -> WrappingKey {
    try WrappingKey(
      SecretFile.read(path, maximumByteCount: Sodium.keyByteCount, rule: .privateFile),
      from: path, for: use)
  }
}

extension WrappingKey {
  /// What a key is read for.
  enum Use {
    /// Opening a store whose slot was made with the key, so that only the same bytes will do.
    case opening
    /// A new store or slot, for which any key will do.
    case newSlot
  }

  /// Takes the contents of a file as a key, and names the file in the error if they are not a key.
  init(_ secret: SecretBytes, from path: String, for use: Use) throws(StoreError) {
    do throws(StoreError) {
      try self.init(secret)
    } catch {
      throw StoreError(
        error.code, store: path, reason: "this is not a whole key file: \(error.reason)",
        remedy: use.remedy)
    }
  }
}

extension WrappingKey.Use {
  /// What to do about a file that is not a key.
  ///
  /// A new key opens no store that exists, and what is left of the old one must not be overwritten.
  fileprivate var remedy: String {
    switch self {
    case .opening:
      "Put the file back from a backup, or open the store with the key of another slot; a new key "
        + "would open nothing"
    case .newSlot:
      "Name another file; a key file holds exactly 32 bytes, and is made with "
        + "head -c 32 /dev/urandom > FILE && chmod 600 FILE"
    }
  }
}
