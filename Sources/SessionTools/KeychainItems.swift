public import Foundation
public import SessionToolsBase

// KeychainAccess' names; each blocks, and its `async` twin below does not.
extension Keychain {
  // MARK: - Reading

  /// Returns a text; `nil` only when there is no such item, or no keychain yet.
  ///
  /// - Throws: `undecodable` when the item is not UTF-8; otherwise as
  ///   ``KeychainStorageContainer``'s reading.
  public func get(_ key: String) throws(StoreError) -> String? {
    try text(of: try getBytes(key), key)
  }

  /// Returns the bytes of an item in a copy that is not wiped; `nil` only when there is no such
  /// item, or no keychain yet.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s reading.
  public func getData(_ key: String) throws(StoreError) -> Data? { try getBytes(key)?.copyData() }

  /// Returns the bytes of an item, which are wiped after use; `nil` only when there is no such
  /// item, or no keychain yet.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s reading.
  public func getBytes(_ key: String) throws(StoreError) -> SecretBytes? {
    try store.value(for: try name(key))
  }

  /// Returns a value that was set as one, or stored as JSON by a container; `nil` only when there
  /// is no such item, or no keychain yet.
  ///
  /// - Throws: `undecodable` when the item is of another type; otherwise as
  ///   ``KeychainStorageContainer``'s reading.
  public func get<Value: Codable>(
    _ key: String, as type: Value.Type
  ) throws(StoreError) -> Value? {
    try value(of: try getBytes(key), key)
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s reading.
  public func contains(_ key: String) throws(StoreError) -> Bool {
    try store.contains(try name(key))
  }

  /// Returns the names of all items, in ascending order.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s reading.
  public func keys() throws(StoreError) -> [String] {
    try store.names(in: try namespace()).map(\.identifier)
  }

  // MARK: - Changing

  /// Stores a text, as UTF-8, in place of an older item.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s storing.
  public func set(_ value: String, key: String) throws(StoreError) {
    try set(SecretBytes(utf8: value), key: key)
  }

  /// Stores bytes, in place of an older item.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s storing.
  public func set(_ value: Data, key: String) throws(StoreError) {
    try set(SecretBytes(value), key: key)
  }

  /// Stores bytes, in place of an older item.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s storing.
  public func set(_ value: SecretBytes, key: String) throws(StoreError) {
    try store.put(value, for: try name(key))
  }

  /// Stores a value as JSON, as a container does, in place of an older item.
  ///
  /// Texts, `Data` and arrays of bytes are stored as they are, also in an optional.
  ///
  /// - Throws: `unencodable`, also for `nil`, which removes nothing; otherwise as
  ///   ``KeychainStorageContainer``'s storing.
  public func set<Value: Codable>(_ value: Value, key: String) throws(StoreError) {
    try set(try bytes(of: value, key), key: key)
  }

  /// Removes an item; an absent one is not an error.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s storing.
  public func remove(_ key: String) throws(StoreError) {
    try store.remove(try name(key))
  }

  /// Removes all items that there are when this begins; those of other services, groups and
  /// installations stay.
  ///
  /// All at once up to 100,000 of them; with the protection
  /// ``KeychainProtection/secretServiceItems``, one after the other.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s storing.
  public func removeAll() throws(StoreError) {
    for part in removals(of: try store.names(in: try namespace())) { try store.apply(part) }
  }
}

extension Keychain {
  // MARK: - Without blocking

  /// Returns a text; `nil` only when there is no such item, or no keychain yet.
  ///
  /// - Throws: As the blocking twin.
  public func get(_ key: String) async throws(StoreError) -> String? {
    try text(of: try await getBytes(key), key)
  }

  /// Returns the bytes of an item in a copy that is not wiped.
  ///
  /// - Throws: As the blocking twin.
  public func getData(_ key: String) async throws(StoreError) -> Data? {
    try await getBytes(key)?.copyData()
  }

  /// Returns the bytes of an item, which are wiped after use.
  ///
  /// - Throws: As the blocking twin.
  public func getBytes(_ key: String) async throws(StoreError) -> SecretBytes? {
    try await store.value(for: try name(key))
  }

  /// Returns a value that was set as one, or stored by a session.
  ///
  /// - Throws: As the blocking twin.
  public func get<Value: Codable>(
    _ key: String, as type: Value.Type
  ) async throws(StoreError) -> Value? {
    try value(of: try await getBytes(key), key)
  }

  /// Returns whether there is an item.
  ///
  /// - Throws: As the blocking twin.
  public func contains(_ key: String) async throws(StoreError) -> Bool {
    try await store.contains(try name(key))
  }

  /// Returns the names of all items, in ascending order.
  ///
  /// - Throws: As the blocking twin.
  public func keys() async throws(StoreError) -> [String] {
    try await store.names(in: try namespace()).map(\.identifier)
  }

  /// Stores a text, as UTF-8, in place of an older item.
  ///
  /// - Throws: As the blocking twin.
  public func set(_ value: String, key: String) async throws(StoreError) {
    try await set(SecretBytes(utf8: value), key: key)
  }

  /// Stores bytes, in place of an older item.
  ///
  /// - Throws: As the blocking twin.
  public func set(_ value: Data, key: String) async throws(StoreError) {
    try await set(SecretBytes(value), key: key)
  }

  /// Stores bytes, in place of an older item.
  ///
  /// - Throws: As the blocking twin.
  public func set(_ value: SecretBytes, key: String) async throws(StoreError) {
    try await store.put(value, for: try name(key))
  }

  /// Stores a value as JSON, as a container does, in place of an older item.
  ///
  /// - Throws: As the blocking twin.
  public func set<Value: Codable>(_ value: Value, key: String) async throws(StoreError) {
    try await set(try bytes(of: value, key), key: key)
  }

  /// Removes an item; an absent one is not an error.
  ///
  /// - Throws: As the blocking twin.
  public func remove(_ key: String) async throws(StoreError) {
    try await store.remove(try name(key))
  }

  /// Removes all items that there are when this begins.
  ///
  /// - Throws: As the blocking twin.
  public func removeAll() async throws(StoreError) {
    for part in removals(of: try await store.names(in: try namespace())) {
      try await store.apply(part)
    }
  }
}

extension Keychain {
  // MARK: - What is stored

  private func name(_ key: String) throws(StoreError) -> ItemName {
    try ItemName(key, in: try namespace())
  }

  private func text(of bytes: SecretBytes?, _ key: String) throws(StoreError) -> String? {
    guard let bytes else { return nil }
    if let text = bytes.copyText() { return text }
    throw StoreError(
      .undecodable, store: "\(try name(key))", reason: "the item is not text in UTF-8",
      remedy: "Read it as data, or as the type that it was set with")
  }

  private func removals(of names: [ItemName]) -> [[StoreChange]] {
    let count = store.traits.maximumChangeCount
    return stride(from: 0, to: names.count, by: count).map {
      names[$0...].prefix(count).map { .remove($0) }
    }
  }

  private func value<Value: Codable>(
    of bytes: SecretBytes?, _ key: String
  ) throws(StoreError) -> Value? {
    guard let bytes else { return nil }
    // What is set as a text or as bytes is stored as it is.
    if Value.self == String.self { return try text(of: bytes, key) as? Value }
    if Value.self == Data.self { return bytes.copyData() as? Value }
    if Value.self == [UInt8].self { return bytes.copyBytes() as? Value }
    return try ItemCoding<Value>.json.item(from: bytes, for: try name(key), decoder: JSONDecoder())
  }

  private func bytes<Value: Codable>(
    of value: Value, _ key: String
  ) throws(StoreError) -> SecretBytes {
    // JSON's null would be a text of four letters for the next reader.
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional, mirror.children.isEmpty {
      throw StoreError(
        .unencodable, store: "\(try name(key))", reason: "the value is nil",
        remedy: "Remove the item with remove(_:)")
    }
    // Also of optionals.
    if let text = value as? String { return SecretBytes(utf8: text) }
    if let data = value as? Data { return SecretBytes(data) }
    if let bytes = value as? [UInt8] { return SecretBytes(bytes) }
    return try ItemCoding<Value>.json.bytes(of: value, for: try name(key), encoder: JSONEncoder())
  }
}
