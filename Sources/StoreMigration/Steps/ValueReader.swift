import SecretStores

/// A reader of the values of names in order, which reads many at once if the store can do that.
struct ValueReader {
  private let store: any SecretStore
  private var names: ArraySlice<ItemName>
  private var excerpt: ArraySlice<SecretBytes?> = []
  private var readsExcerpts: Bool
  private let known: [ItemName: SecretBytes]

  /// - Parameters:
  ///   - store: The store that has the values.
  ///   - names: The names of the values, in the order in which they are read.
  ///   - known: Values that were read with the names.
  init(_ store: any SecretStore, _ names: [ItemName], known: [ItemName: SecretBytes] = [:]) {
    self.store = store
    self.names = names[...]
    self.known = known
    readsExcerpts = store is any MigratableStore
  }

  /// Returns the value of the next name, as it is now or was when one of the names before was read.
  ///
  /// - Throws: As reading the store.
  mutating func next() throws(StoreError) -> SecretBytes? {
    // A store that gave some values with its names does not read the others together either.
    if known.isEmpty, excerpt.isEmpty, readsExcerpts { readExcerpt() }
    guard let name = names.popFirst() else { preconditionFailure("one value for each name") }
    if let value = known[name] { return value }
    if let value = excerpt.popFirst() ?? nil { return value }
    return try store.value(for: name)
  }

  /// Returns the value of the next name, or an error that concerns this item alone.
  ///
  /// - Throws: As reading the store as a whole.
  mutating func nextResult() throws(StoreError) -> Result<SecretBytes?, StoreError> {
    do throws(StoreError) {
      return .success(try next())
    } catch let error where error.isOfOneItem {
      return .failure(error)
    }
  }

  /// Reads the next values together.
  ///
  /// If one of them cannot be read, all of them fail; from then on every value is read by itself.
  private mutating func readExcerpt() {
    guard let store = store as? any MigratableStore,
      let values = try? store.values(ofFirst: names), !values.isEmpty
    else {
      readsExcerpts = false
      return
    }
    excerpt = values[...]
  }
}

/// A reader of both values of items that are copied, in order.
struct ValuePairReader {
  private var sources: ValueReader
  private var targets: ValueReader

  init(_ migration: Migration, _ copies: some Sequence<MigrationBatch.Copy>) {
    sources = ValueReader(migration.source, copies.map(\.source))
    targets = ValueReader(migration.target, copies.map(\.target))
  }

  /// Returns the value that the source has, and the one that the target has.
  ///
  /// - Throws: As reading the stores as a whole.
  mutating func next() throws(StoreError) -> FoundValues {
    FoundValues(source: try sources.nextResult(), target: try targets.nextResult())
  }
}

/// The values of an item in both stores.
struct FoundValues {
  let source: Result<SecretBytes?, StoreError>
  let target: Result<SecretBytes?, StoreError>
}
