public import SecretStores

extension SecretServiceStore {
  /// Fewer values are read faster one by one than with their whole namespace.
  private static let minimumBulkCount = 20
  /// How many items are read together for the sake of one, whose own read takes about as long.
  ///
  /// So the time for all parts of a large collection does not grow with its square.
  private static let maximumExcess = 10

  /// Returns the service's path of a named collection, and of the default one that the items are in
  /// any; blocks.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  public func identity() throws(StoreError) -> String? {
    let path = try waiting { store async throws(StoreError) in
      try await store.perform { operation in try await operation.collection() }
    }
    return collection.name == nil ? "secret service" : "secret service \(path)"
  }

  /// Returns whether an item of one of the stores may be one of the other: the default collection's
  /// items are in any collection.
  package func sharesItems(with other: any SecretStore) -> Bool {
    guard let other = other as? SecretServiceStore else { return false }
    return collection.name == nil || other.collection.name == nil
  }

  /// Returns the names of all items, and the values of small ones, which the service returns
  /// together.
  ///
  /// The name of a damaged item is taken from its attributes.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func listing() throws(StoreError) -> StoreListing {
    try waiting { store async throws(StoreError) in
      try await store.perform { operation in try await operation.listing() }
    }
  }

  /// Reads small values of each namespace together, all there are; large ones must be read one by
  /// one, and so must those of a namespace that has more than ten times as many.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func values(
    ofFirst names: ArraySlice<ItemName>
  ) throws(StoreError) -> [SecretBytes?] {
    guard names.count >= Self.minimumBulkCount else { return names.map { _ in nil } }
    var values: [ItemName: SecretBytes] = [:]
    for (namespace, names) in Dictionary(grouping: names, by: \.namespace) {
      let maximumCount = names.count * Self.maximumExcess
      let items = try waiting { store async throws(StoreError) in
        try await store.perform { operation in
          try await operation.count(in: namespace, .small) <= maximumCount
            ? operation.smallItems(in: namespace) : [:]
        }
      }
      values.merge(items) { $1 }
    }
    return names.map { values[$0] }
  }

  /// Lists the names when it is asked for many, which is cheaper than asking for each, unless the
  /// collection has more than ten times as many.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func present(among names: [ItemName]) throws(StoreError) -> Set<ItemName> {
    if names.count >= Self.minimumBulkCount {
      let count = try waiting { store async throws(StoreError) in
        try await store.perform { operation in
          try await operation.count(in: nil, .small) + operation.count(in: nil, .large)
        }
      }
      if count <= names.count * Self.maximumExcess {
        return Set(try listing().names).intersection(names)
      }
    }
    var present: Set<ItemName> = []
    for name in names where try contains(name) { present.insert(name) }
    return present
  }
}
