import SessionToolsBase

private let reading = """
  A migration reads the same names and values as any other caller: all that are listed, together \
  or one by one.
  """
private let identity = """
  identity is the same text for every way to the same items, and another text for other items.
  """

extension StoreConformance {
  static let migrationChecks = [
    Check("a migration finds every item", reading, kinds: [nil]) { store in
      let names = try (0..<20).map { try ItemName("\($0)", in: $0 < 10 ? "a" : "b") }
      let samples = names.indices.map { Sample("number \($0)") }
      try await store.apply(zip(names, samples).map { .put($1.bytes, for: $0) })
      let listing = try await store.migrating { try $0.fullListing() }
      try expect(
        listing.names == names.sorted(), "\(names.count) names in ascending order",
        seen: "\(listing.names.count) names: \(listing.names.described)")
      if let damage = listing.damage { throw Finding(expected: "no damage", seen: damage) }
      let pages = try await store.migrating { try StoreListing($0.listingPages()) }
      try expect(
        pages.names == listing.names, "the same names in parts",
        seen: "\(pages.names.count) names: \(pages.names.described)")
      for (name, sample) in zip(names, samples) {
        guard let found = listing.values[name] else { continue }
        try expect(
          found == sample.bytes, "\(sample.described) in the listing",
          seen: SecretBytes?.some(found).described(among: samples))
      }
    },
    Check(
      "values read together equal those read one by one", reading, kinds: [nil]
    ) { store in
      let names = try (0..<20).map { try ItemName("\($0)", in: "conformance") }
      let samples = names.indices.map { Sample("number \($0)") }
      try await store.apply(zip(names, samples).map { .put($1.bytes, for: $0) })
      let asked = try [ItemName("absent", in: "conformance")] + names
      // Any other store reads them one by one.
      let found = try await store.migrating {
        try ($0 as? any MigratableStore)?.values(ofFirst: asked[...]) ?? []
      }
      try expect(
        found.count <= asked.count, "at most one value for each name", seen: "\(found.count)")
      for (value, sample) in zip(found, [nil] + samples) where value != nil {
        try expect(
          value == sample?.bytes, sample?.described ?? "no value of an absent item",
          seen: value.described(among: samples))
      }
    },
    Check(
      "different stores have different identities", identity, kinds: [nil],
      trial: { trial in
        let stores = [try await trial.open(), try await trial.open()]
        // Some stores have no identity while they are empty.
        for store in stores {
          try await store.put(Sample("text"), for: ItemName("item", in: "conformance"))
        }
        let first = try await stores[0].migrating { try $0.identity() }
        let second = try await stores[1].migrating { try $0.identity() }
        try expect(
          first == nil || first != second, "two identities of two stores", seen: "one identity")
      }),
    Check(
      "objects of the same data have the same identity", identity, [.reopening], kinds: [nil]
    ) { store in
      try await store.put(Sample("text"), for: ItemName("item", in: "conformance"))
      let other = try await store.reopened()
      let first = try await store.migrating { try $0.identity() }
      let second = try await other.migrating { try $0.identity() }
      try expect(first == second, "one identity of two objects", seen: "two identities")
    },
  ]
}

extension StoreProbe {
  /// Runs a closure with the calls of a migration, which block.
  fileprivate func migrating<Result: Sendable>(
    _ body: @escaping @Sendable (any SecretStore) throws -> Result
  ) async throws -> Result {
    try await onOwnThread { [store] in try body(store) }
  }
}
