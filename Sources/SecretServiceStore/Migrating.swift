public import SessionToolsBase

extension SecretServiceStore {
  /// For fewer values, one by one is faster than a whole namespace.
  private static let smallestBulkCount = 20

  /// The collection, as the service calls it; blocks.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func identity() throws(StoreError) -> String? {
    "secret service "
      + (try waiting { store async throws(StoreError) in
        try await store.perform { operation in try await operation.collection() }
      })
  }

  /// The names of all items, with the values of small ones, which the service gives together; of
  /// items that somebody changed, the names that their attributes have.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func listing() throws(StoreError) -> StoreListing {
    try waiting { store async throws(StoreError) in
      try await store.perform { operation in try await operation.listing() }
    }
  }

  /// Reads small values of each namespace together; large ones are to be read one by one.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  public func values(
    ofFirst keys: ArraySlice<StoreKey>
  ) throws(StoreError) -> [SecretBytes?] {
    guard keys.count >= Self.smallestBulkCount else { return keys.map { _ in nil } }
    var values: [StoreKey: SecretBytes] = [:]
    for namespace in Set(keys.map(\.namespace)) {
      let items = try waiting { store async throws(StoreError) in
        try await store.perform { operation in try await operation.smallItems(in: namespace) }
      }
      values.merge(items) { $1 }
    }
    return keys.map { values[$0] }
  }
}
