import SealedStore
public import SecretStores

extension SealedDatabaseStore {
  private static let excerptCount = 100
  static let excerptByteCount = 4 << 20

  /// Returns the names of one namespace, or of all when `nil`, in ascending order.
  ///
  /// Blocks for a round trip for each 700 names. Above 700 it is not one moment that is read:
  /// what is changed meanwhile may be in it or not.
  ///
  /// - Throws: As ``value(for:)``; `timedOut` when one page takes too long.
  public func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName] {
    var pages = try RowPages(in: namespace, of: self)
    var found: [ItemName] = []
    while let page = try pages.next() {
      for row in page {
        let name = try row.opened.get()
        // Half of the hash is that of the whole namespace, and may by chance be another one's.
        if namespace == nil || name.namespace == namespace { found.append(name) }
      }
    }
    found.sortUnlessAscending()
    return found
  }

  /// Returns the names of all items whose rows open, and why there may be others.
  ///
  /// - Throws: As ``names(in:)``, except for rows that do not open.
  package func listing() throws(StoreError) -> StoreListing {
    try StoreListing(pages())
  }

  /// Returns the same in pages of 700, each of which takes one round trip.
  ///
  /// - Throws: As ``listing()``.
  package func pages() throws(StoreError) -> any StorePages { try NamePages(of: self) }

  /// Reads the values of the first 100 of some names, or fewer when they are large.
  ///
  /// Blocks for one round trip.
  ///
  /// - Throws: As ``value(for:)``.
  package func values(
    ofFirst names: ArraySlice<ItemName>
  ) throws(StoreError) -> [SecretBytes?] {
    let deadline = database.deadline
    let asked = Array(names.prefix(Self.excerptCount))
    let addresses = try self.keys.use { keys in asked.map { keys.address(of: $0) } }
    return try self.keys.renewing(until: deadline) { () throws(StoreError) in
      try values(of: asked, at: addresses, until: deadline)
    }
  }

  private func values(
    of asked: [ItemName], at addresses: [RowAddress], until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> [SecretBytes?] {
    let known = addresses.map { versions[$0] }
    var parameters = StatementParameters(addresses)
    parameters.append(Int64(Self.excerptByteCount))
    let answer = try database.read(database.statements.values, parameters, until: deadline)
    var values = [SecretBytes?](repeating: nil, count: asked.count)
    var isFound = [Bool](repeating: false, count: asked.count)
    try keys.use { keys throws(StoreError) in
      let opener = RowOpener(keys: keys, of: database.name)
      for number in 0..<answer.rowCount {
        guard let position = answer.integer(Int64.self, number, 0).map({ Int($0) &- 1 }),
          asked.indices.contains(position)
        else { throw corrupt(nil) }
        isFound[position] = true
        // Behind what is enough, the server returns no values: those are read by themselves.
        guard answer.isPresent(number, 6) else { continue }
        let name = asked[position]
        guard let row = answer.sealedRow(number, from: 1, at: addresses[position], .value) else {
          throw corrupt(name)
        }
        guard !SeenVersions.isOlder(row.fields.version, than: known[position]) else {
          throw older(name)
        }
        values[position] = try opener.value(of: row, addressedBy: name)
        note(row)
      }
    }
    for position in asked.indices where !isFound[position] {
      guard !SeenVersions.isOlder(nil, than: known[position]) else { throw older(asked[position]) }
    }
    return values
  }
}

/// The names of all items whose rows open, page by page.
private struct NamePages: StorePages {
  private var pages: RowPages
  let nameCount: Int

  init(of store: SealedDatabaseStore) throws(StoreError) {
    pages = try RowPages(in: nil, of: store)
    nameCount = try store.rowCount()
  }

  mutating func next() throws(StoreError) -> StoreListing? {
    guard let page = try pages.next() else { return nil }
    var found: [ItemName] = []
    var damage: StoreError?
    for row in page {
      switch row.opened {
      case .success(let name): found.append(name)
      case .failure(let error): damage = damage ?? error
      }
    }
    return StoreListing(names: found.sorted(), damage: damage)
  }
}
