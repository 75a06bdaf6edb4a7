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
    let hash = try keys.use { keys in namespace.map { keys.hash(of: $0).bytes.bytes } }
    let (first, last) = (
      hash ?? Array(repeating: 0, count: 16), hash ?? Array(repeating: 0xff, count: 16)
    )
    var found: [StoreKey] = []
    var reader = CanonicalKeyReader()
    var (namespaceBefore, placeBefore, tagBefore) = (first, Int16.min, [UInt8]())
    while true {
      let deadline = database.deadline
      var parameters = StatementParameters()
      parameters.append(first)
      parameters.append(last)
      parameters.append(namespaceBefore)
      parameters.append(placeBefore)
      parameters.append(tagBefore)
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
        (namespaceBefore, placeBefore, tagBefore) = (
          address.namespace.bytes.bytes, address.place.number, address.tag.bytes.bytes
        )
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
    let known = addresses.map { versions[$0] }
    var parameters = StatementParameters(addresses)
    parameters.append(Self.excerptByteCount)
    let answer = try database.read(database.statements.values, parameters, until: deadline)
    var values = [SecretBytes?](repeating: nil, count: asked.count)
    var isFound = [Bool](repeating: false, count: asked.count)
    for number in 0..<answer.rowCount {
      guard let position = answer.integer(Int64.self, number, 0).map({ Int($0) - 1 }),
        asked.indices.contains(position)
      else { throw corrupt(nil) }
      isFound[position] = true
      // Behind what is enough, the server returns no values: those are read by themselves.
      guard answer.isPresent(number, 6) else { continue }
      let key = asked[position]
      guard let row = answer.sealedRow(number, from: 1, at: addresses[position], .value) else {
        throw corrupt(key)
      }
      guard !SeenVersions.isOlder(row.fields.version, than: known[position]) else {
        throw older(key)
      }
      values[position] = try self.keys.useNewest(until: deadline) { keys throws(StoreError) in
        try RowOpener(keys: keys, of: database.name).value(of: row, for: key)
      }
      note(row)
    }
    for position in asked.indices where !isFound[position] {
      guard !SeenVersions.isOlder(nil, than: known[position]) else { throw older(asked[position]) }
    }
    return values
  }
}
