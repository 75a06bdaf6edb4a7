package import SecretStores

/// The limits of values and changes, which are checked before anything is sent.
package enum ChangeLimits {
  /// Checks the value of an item.
  ///
  /// - Throws: `valueTooLarge` above 1 MiB.
  static func check(
    _ byteCount: Int, for name: ItemName, database: String
  ) throws(StoreError) {
    guard byteCount <= DatabaseFormat.maximumValueByteCount else {
      throw StoreError(
        .valueTooLarge, store: database, reason: "the value for \(name) has \(byteCount) bytes",
        remedy: "A value has at most \(DatabaseFormat.maximumValueByteCount) bytes")
    }
  }

  /// Checks a change as a whole and each value in it.
  ///
  /// - Throws: `valueTooLarge` for a value above 1 MiB, for more than 1,000 items, or for more than
  ///   16 MiB of sealed names and values.
  package static func check(
    _ changes: [StoreChange], database: String
  ) throws(StoreError) {
    guard changes.count <= DatabaseFormat.maximumChangeCount else {
      throw StoreError(
        .valueTooLarge, store: database, reason: "one change has \(changes.count) items",
        remedy: "Make several changes of at most \(DatabaseFormat.maximumChangeCount) items")
    }
    var total = 0
    for change in changes {
      switch change {
      case .put(let value, for: let name):
        try check(value.byteCount, for: name, database: database)
        total += SealedRow.byteCount(
          nameByteCount: name.canonicalByteCount, valueByteCount: value.byteCount)
      case .remove(let name):
        total += SealedRow.byteCount(nameByteCount: name.canonicalByteCount, valueByteCount: 0)
      }
    }
    guard total <= DatabaseFormat.maximumChangeByteCount else {
      throw StoreError(
        .valueTooLarge, store: database,
        reason: "one change takes \(total) bytes of sealed names and values",
        remedy: "Make several changes of at most \(DatabaseFormat.maximumChangeByteCount) bytes")
    }
  }
}
