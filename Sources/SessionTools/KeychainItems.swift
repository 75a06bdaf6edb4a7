public import Foundation
public import SessionToolsBase

// KeychainAccess' names; each blocks, and its `async` twin below does not.
extension Keychain {
  // MARK: - Reading

  /// Returns a text; `nil` only when the keychain is open and has no such item.
  ///
  /// - Throws: `undecodable` when the item is not UTF-8; otherwise as
  ///   ``KeychainStorageContainer``'s reading.
  public func get(_ key: String) throws(StoreError) -> String? {
    try text(of: try getBytes(key), key)
  }

  /// Returns the bytes of an item in a copy that is not wiped; `nil` only when the keychain is open
  /// and has no such item.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s reading.
  public func getData(_ key: String) throws(StoreError) -> Data? { try getBytes(key)?.data }

  /// Returns the bytes of an item, which are wiped after use; `nil` only when the keychain is open
  /// and has no such item.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s reading.
  public func getBytes(_ key: String) throws(StoreError) -> SecretBytes? {
    try store.value(for: try name(key))
  }

  /// Returns a value that was set as one, or stored by a session; `nil` only when the keychain is
  /// open and has no such item.
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
  /// - Throws: `unencodable`; otherwise as ``KeychainStorageContainer``'s storing.
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
  /// All at once, except with the protection ``KeychainProtection/secretServiceItems``.
  ///
  /// - Throws: As ``KeychainStorageContainer``'s storing.
  public func removeAll() throws(StoreError) {
    let names = try store.names(in: try namespace())
    if !names.isEmpty { try store.apply(names.map { .remove($0) }) }
  }
}

extension Keychain {
  // MARK: - Without blocking

  /// Returns a text; `nil` only when the keychain is open and has no such item.
  ///
  /// - Throws: As the blocking twin.
  public func get(_ key: String) async throws(StoreError) -> String? {
    try text(of: try await getBytes(key), key)
  }

  /// Returns the bytes of an item in a copy that is not wiped.
  ///
  /// - Throws: As the blocking twin.
  public func getData(_ key: String) async throws(StoreError) -> Data? {
    try await getBytes(key)?.data
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
    let names = try await store.names(in: try namespace())
    if !names.isEmpty { try await store.apply(names.map { .remove($0) }) }
  }
}

extension Keychain {
  // MARK: - What is stored

  private func name(_ key: String) throws(StoreError) -> ItemName {
    try ItemName(key, in: try namespace())
  }

  private func text(of bytes: SecretBytes?, _ key: String) throws(StoreError) -> String? {
    guard let bytes else { return nil }
    if let text = bytes.text { return text }
    throw StoreError(
      .undecodable, store: "\(try name(key))", reason: "the item is not text in UTF-8",
      remedy: "Read it as data, or as the type that it was set with")
  }

  private func value<Value: Codable>(
    of bytes: SecretBytes?, _ key: String
  ) throws(StoreError) -> Value? {
    guard let bytes else { return nil }
    // What is set as a text or as data is stored as it is.
    if Value.self == String.self { return try text(of: bytes, key) as? Value }
    if Value.self == Data.self { return bytes.data as? Value }
    return try ItemCoding.json.item(from: bytes, for: try name(key), decoder: JSONDecoder())
  }

  private func bytes<Value: Codable>(
    of value: Value, _ key: String
  ) throws(StoreError) -> SecretBytes {
    if let text = value as? String { return SecretBytes(utf8: text) }
    if let data = value as? Data { return SecretBytes(data) }
    return try ItemCoding.json.bytes(of: value, for: try name(key), encoder: JSONEncoder())
  }
}
