/// The changes most programs make.
extension SecretStore {
  /// Stores one value.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func put(_ value: SecretBytes, for key: StoreKey) throws(StoreError) {
    try apply([.put(value, for: key)])
  }

  /// Stores one value.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func put(_ value: SecretBytes, for key: StoreKey) async throws(StoreError) {
    try await apply([.put(value, for: key)])
  }

  /// Removes one item; no error when there is none.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func remove(_ key: StoreKey) throws(StoreError) {
    try apply([.remove(key)])
  }

  /// Removes one item; no error when there is none.
  ///
  /// - Throws: As ``SecretStore/apply(_:)``.
  public func remove(_ key: StoreKey) async throws(StoreError) {
    try await apply([.remove(key)])
  }

  /// Whether there is an item, by reading it: for stores that have no cheaper way.
  ///
  /// - Throws: As ``SecretStore/value(for:)``.
  public func contains(_ key: StoreKey) throws(StoreError) -> Bool {
    try value(for: key) != nil
  }

  /// Whether there is an item, by reading it: for stores that have no cheaper way.
  ///
  /// - Throws: As ``SecretStore/value(for:)``.
  public func contains(_ key: StoreKey) async throws(StoreError) -> Bool {
    try await value(for: key) != nil
  }
}
