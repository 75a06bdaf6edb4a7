public import SessionToolsBase

/// A file of exactly 32 bytes, with mode 0600 and owned by the user.
///
/// Keep it apart from the store: anyone who has both can open the store.
public struct KeyFile: KeySource {
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
    return try key()
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
    return (.rawKey(label: "key file"), try key())
  }

  private func key() throws(StoreError) -> WrappingKey {
    try WrappingKey(
      SecretFile.read(path, largestByteCount: Sodium.keyByteCount, rule: .privateFile),
      from: path)
  }
}

extension WrappingKey {
  /// Takes the contents of a file as a key, and names the file in the error if they are not a key.
  init(_ secret: SecretBytes, from path: String) throws(StoreError) {
    do throws(StoreError) {
      try self.init(secret)
    } catch {
      throw StoreError(
        error.code, store: path, reason: error.reason,
        remedy: "A key file holds exactly 32 bytes; make one with "
          + "head -c 32 /dev/urandom > FILE && chmod 600 FILE")
    }
  }
}
