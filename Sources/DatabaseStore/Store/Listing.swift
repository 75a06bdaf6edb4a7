import SealedStore
public import SessionToolsBase

extension SealedDatabaseStore {
  private static let pageCount: Int64 = 1000
  private static let excerptCount = 100
  private static let excerptByteCount: Int64 = 4 << 20

  /// Returns the keys of one namespace, or of all when `nil`, in ascending order.
  ///
  /// Blocks for a round trip for each 1,000 keys. Above 1,000 it is not one moment that is read:
  /// what is changed meanwhile may be in it or not.
  ///
  /// - Throws: As ``value(for:)``; `timedOut` when one page takes too long.
  public func keys(in namespace: StoreNamespace?) throws(StoreError) -> [StoreKey] {
    let hash = try keys.use { keys in namespace.map { keys.hash(of: $0).bytes } }
    let (first, last) = (
      hash ?? Bytes16(low: 0, high: 0), hash ?? Bytes16(low: .max, high: .max)
    )
    var found: [StoreKey] = []
    var reader = CanonicalKeyReader()
    var before: RowAddress?
    while true {
      let deadline = database.deadline
      var parameters = StatementParameters()
      parameters.append(first)
      parameters.append(last)
      if let before {
        parameters.append(before)
      } else {
        parameters.append(first)
        parameters.append(Int16.min)
        parameters.append([UInt8]())
      }
      parameters.append(Self.pageCount)
      let page = try database.read(database.statements.page, parameters, until: deadline)
      for number in 0..<page.rowCount {
        guard let address = page.address(number),
          let row = page.sealedRow(number, from: 3, at: address, .name)
        else { throw corrupt(nil) }
        let key = try keys.useNewest(until: deadline) { keys throws(StoreError) in
          try RowOpener(keys: keys, of: database.name).key(of: row, by: &reader)
        }
        // Half of the hash is that of the whole namespace, and may by chance be another one's.
        if namespace == nil || key.namespace == namespace { found.append(key) }
        before = address
      }
      guard page.rowCount == Self.pageCount else { break }
    }
    found.sortUnlessAscending()
    return found
  }

  /// Reads the values of the first 100 of some keys, or fewer when they are large.
  ///
  /// Blocks for one round trip.
  ///
  /// - Throws: As ``value(for:)``.
  package func values(
    ofFirst keys: ArraySlice<StoreKey>
  ) throws(StoreError) -> [SecretBytes?] {
    let deadline = database.deadline
    let asked = Array(keys.prefix(Self.excerptCount))
    let addresses = try self.keys.use { keys throws(StoreError) in
      try asked.map { key throws(StoreError) in try keys.address(of: key) }
    }
    var parameters = StatementParameters(addresses)
    parameters.append(Self.excerptByteCount)
    let answer = try database.read(database.statements.values, parameters, until: deadline)
    var values = [SecretBytes?](repeating: nil, count: asked.count)
    for number in 0..<answer.rowCount {
      guard let position = answer.integer(Int64.self, number, 0).map({ Int($0) - 1 }),
        asked.indices.contains(position)
      else { throw corrupt(nil) }
      // Behind what is enough, the server returns no values: those are read by themselves.
      guard answer.isPresent(number, 6) else { continue }
      let key = asked[position]
      guard let row = answer.sealedRow(number, from: 1, at: addresses[position], .value) else {
        throw corrupt(key)
      }
      values[position] = try self.keys.useNewest(until: deadline) { keys throws(StoreError) in
        try RowOpener(keys: keys, of: database.name).value(of: row, addressedBy: key)
      }
    }
    return values
  }
}
