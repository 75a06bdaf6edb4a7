package import SecretStores

/// The limits of values and changes, which are checked before anything is sent.
package enum ChangeLimits {
  /// Checks the value of an item.
  ///
  /// - Throws: `valueTooLarge` above 1 MiB.
  static func check(
    _ byteCount: Int, for key: StoreKey, database: String
  ) throws(StoreError) {
    guard byteCount <= DatabaseFormat.largestValueByteCount else {
      throw StoreError(
        .valueTooLarge, store: database, reason: "the value for \(key) has \(byteCount) bytes",
        remedy: "A value has at most \(DatabaseFormat.largestValueByteCount) bytes")
    }
  }

  /// Checks a change as a whole and each value in it.
  ///
  /// - Throws: `valueTooLarge` for a value above 1 MiB, for more than 1,000 items, or for more than
  ///   16 MiB of sealed names and values.
  package static func check(
    _ changes: [StoreChange], database: String
  ) throws(StoreError) {
    guard changes.count <= DatabaseFormat.largestChangeCount else {
      throw StoreError(
        .valueTooLarge, store: database, reason: "one change has \(changes.count) items",
        remedy: "Make several changes of at most \(DatabaseFormat.largestChangeCount) items")
    }
    var total = 0
    for change in changes {
      switch change {
      case .put(let value, for: let key):
        try check(value.byteCount, for: key, database: database)
        total += SealedRow.byteCount(
          keyByteCount: key.canonicalByteCount, valueByteCount: value.byteCount)
      case .remove(let key):
        total += SealedRow.byteCount(keyByteCount: key.canonicalByteCount, valueByteCount: 0)
      }
    }
    guard total <= DatabaseFormat.largestChangeByteCount else {
      throw StoreError(
        .valueTooLarge, store: database,
        reason: "one change takes \(total) bytes of sealed names and values",
        remedy: "Make several changes of at most \(DatabaseFormat.largestChangeByteCount) bytes")
    }
  }
}
