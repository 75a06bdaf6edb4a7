import SealedStore
package import SecretStores

/// An opener of rows.
package struct RowOpener: Sendable {
  private let keys: DatabaseKeys
  private let database: String

  /// - Parameters:
  ///   - keys: The keys of the store.
  ///   - database: The store as a person would name it.
  package init(keys: DatabaseKeys, of database: String) {
    self.keys = keys
    self.database = database
  }

  /// Opens the value of a row that was read for a name.
  ///
  /// The name is not opened: the sealing of the value binds the address, which is computed from the
  /// name, not taken from the server.
  ///
  /// - Parameters:
  ///   - row: A row with its value.
  ///   - name: The name that the caller asked for.
  /// - Returns: The value, in memory that is wiped; `nil` when the row is a removal.
  /// - Throws: `keyMissing` when the header that was opened does not have the row's epoch;
  ///   `corrupt` when the row was not sealed for this name and these columns.
  package func value(
    of row: SealedRow, for name: ItemName
  ) throws(StoreError) -> SecretBytes? {
    guard keys.address(of: name) == row.fields.address else { throw corrupt(name) }
    return try value(of: row, addressedBy: name)
  }

  /// Opens the name of a row.
  ///
  /// - Parameters:
  ///   - row: A row with its name.
  ///   - reader: A reader that is used for many names.
  /// - Returns: The name of the row's item.
  /// - Throws: `keyMissing` when the header that was opened does not have the row's epoch;
  ///   `corrupt` when the row was not sealed for its columns, or its name belongs to another
  ///   address.
  package func name(
    of row: SealedRow, by reader: inout CanonicalNameReader
  ) throws(StoreError) -> ItemName {
    guard let sealed = row.name else { preconditionFailure("a row with its name") }
    let keys = try epochKeys(of: row)
    guard Padding.isPossibleName(sealed.count - Sodium.tagByteCount),
      sealed.count <= Self.maximumNameByteCount,
      let text = open(sealed, of: row, with: keys.name)
    else { throw corrupt(nil) }
    let byteCount = ItemName.canonicalByteCount(in: text, 0..<text.byteCount)
    guard Padding.paddedByteCount(forName: byteCount) == text.byteCount,
      text.isZero(byteCount..<text.byteCount),
      let name = reader.name(in: text, 0..<byteCount),
      self.keys.address(of: name) == row.fields.address
    else { throw corrupt(nil) }
    return name
  }

  /// Opens name and value of a row.
  ///
  /// - Throws: As ``name(of:by:)`` and ``value(of:for:)``.
  package func item(
    of row: SealedRow, by reader: inout CanonicalNameReader
  ) throws(StoreError) -> (name: ItemName, value: SecretBytes?) {
    let name = try name(of: row, by: &reader)
    return (name, try value(of: row, addressedBy: name))
  }

  static let maximumNameByteCount =
    Sodium.tagByteCount + Padding.paddedByteCount(forName: 4 * (5 + Name.maximumByteCount))
  static let maximumValueByteCount =
    Sodium.tagByteCount
    + Padding.paddedByteCount(for: 4 + DatabaseFormat.maximumValueByteCount)

  /// Opens the value of a row whose address was computed from the name.
  ///
  /// - Throws: As ``value(of:for:)``.
  func value(
    of row: SealedRow, addressedBy name: ItemName
  ) throws(StoreError) -> SecretBytes? {
    guard let sealed = row.value else { preconditionFailure("a row with its value") }
    let keys = try epochKeys(of: row)
    guard Padding.isPossible(sealed.count - Sodium.tagByteCount),
      sealed.count <= Self.maximumValueByteCount,
      let text = open(sealed, of: row, with: keys.value)
    else { throw corrupt(name) }
    let byteCount = Int(text.load(UInt32.self, at: 0))
    guard byteCount <= (row.fields.isGone ? 0 : DatabaseFormat.maximumValueByteCount),
      Padding.paddedByteCount(for: 4 + byteCount) == text.byteCount,
      text.isZero(4 + byteCount..<text.byteCount)
    else { throw corrupt(name) }
    return row.fields.isGone ? nil : SecretBytes(in: text, 4..<4 + byteCount)
  }

  private func epochKeys(of row: SealedRow) throws(StoreError) -> EpochKeys {
    guard let found = keys.keys(of: row.fields.epoch) else {
      throw StoreError(
        .keyMissing, store: database,
        reason: "an item is sealed with data key \(row.fields.epoch.number), "
          + "which is not in the header")
    }
    return found
  }

  /// Opens one of the sealed parts; `nil` when it was not sealed with these columns.
  private func open(
    _ sealed: [UInt8], of row: SealedRow, with key: KeyBytes
  ) -> ByteBuffer? {
    guard row.nonce.count == Sodium.nonceByteCount else { return nil }
    let start = row.nonce.count
    let buffer = ByteBuffer(unwrittenByteCount: start + sealed.count, isSecret: false)
    buffer.copy(row.nonce, to: 0)
    buffer.copy(sealed, to: start)
    let text = ByteBuffer(byteCount: sealed.count - Sodium.tagByteCount, isSecret: true)
    let associatedData = row.fields.associatedData(for: keys.store)
    let isOpen = Sodium.open(
      buffer, start..<buffer.byteCount, nonce: 0..<start, associatedData: associatedData,
      0..<associatedData.byteCount, key: key, into: (text, 0))
    return isOpen ? text : nil
  }

  private func corrupt(_ name: ItemName?) -> StoreError { Self.corrupt(name, in: database) }

  /// Returns the error for a row that no writer made.
  static func corrupt(_ name: ItemName?, in database: String) -> StoreError {
    StoreError(
      .corrupt, store: database,
      reason: name.map { "the row of \($0) does not open" } ?? "the row of an item does not open",
      remedy: "Someone without the keys changed it or put another one in its place: "
        + "put it back from a backup, and find out who can write to the database")
  }
}
