import SealedStore
package import SecretStores

extension SealedDatabaseStore {
  /// Returns which of some names have items, without reading their values.
  ///
  /// Blocks for a round trip for each 700 names.
  ///
  /// - Throws: As ``value(for:)``, also when only one of the items is damaged.
  package func present(among names: [ItemName]) throws(StoreError) -> Set<ItemName> {
    var present: Set<ItemName> = []
    for start in stride(from: 0, to: names.count, by: DatabaseFormat.pageCount) {
      let asked = Array(names[start..<min(start + DatabaseFormat.pageCount, names.count)])
      let deadline = database.deadline
      let addresses = try self.keys.use { keys in asked.map { keys.address(of: $0) } }
      present.formUnion(
        try self.keys.renewing(until: deadline) { () throws(StoreError) in
          try self.present(among: asked, at: addresses, until: deadline)
        })
    }
    return present
  }

  private func present(
    among asked: [ItemName], at addresses: [RowAddress], until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> Set<ItemName> {
    let known = addresses.map { versions[$0] }
    let answer = try database.read(
      database.statements.names, StatementParameters(addresses), until: deadline)
    var rows = [SealedRow?](repeating: nil, count: asked.count)
    for number in 0..<answer.rowCount {
      guard let position = answer.integer(Int64.self, number, 0).map({ Int($0) &- 1 }),
        asked.indices.contains(position)
      else { throw corrupt(nil) }
      guard let row = answer.sealedRow(number, from: 1, at: addresses[position], .name) else {
        throw corrupt(asked[position])
      }
      rows[position] = row
    }
    return try keys.use { keys throws(StoreError) in
      let opener = RowOpener(keys: keys, of: database.name)
      var reader = CanonicalNameReader()
      var present: Set<ItemName> = []
      for (position, row) in rows.enumerated() {
        let name = asked[position]
        guard !SeenVersions.isOlder(row?.fields.version, than: known[position]) else {
          throw older(name)
        }
        guard let row else { continue }
        // The name is opened, because both sealings bind whether the item is gone.
        guard try opener.name(of: row, by: &reader) == name else { throw corrupt(name) }
        note(row)
        if !row.fields.isGone { present.insert(name) }
      }
      return present
    }
  }
}
