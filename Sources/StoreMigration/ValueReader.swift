import SessionToolsBase

/// A reader of the values of keys in order, which reads many at once if the store can do that.
struct ValueReader {
  /// How many keys are offered to a store at once.
  private static let largestExcerptCount = 5000

  private let store: any SecretStore
  private var keys: ArraySlice<StoreKey>
  private var excerpt: ArraySlice<SecretBytes?> = []
  private var readsExcerpts: Bool
  private let known: [StoreKey: SecretBytes]

  /// - Parameters:
  ///   - store: The store that has the values.
  ///   - keys: The keys of the values, in the order in which they are read.
  ///   - known: Values that were read with the keys.
  init(_ store: any SecretStore, _ keys: [StoreKey], known: [StoreKey: SecretBytes] = [:]) {
    self.store = store
    self.keys = keys[...]
    self.known = known
    readsExcerpts = store is any MigratableStore
  }

  /// Returns the value of the next key, as it is now or was a few thousand keys ago.
  ///
  /// - Throws: As reading the store.
  mutating func next() throws(StoreError) -> SecretBytes? {
    // A store that gave some values with its keys does not read the others together either.
    if known.isEmpty, excerpt.isEmpty, readsExcerpts { readExcerpt() }
    guard let key = keys.popFirst() else { preconditionFailure("one value for each key") }
    if let value = known[key] { return value }
    if let value = excerpt.popFirst() ?? nil { return value }
    return try store.value(for: key)
  }

  /// Reads the next values together.
  ///
  /// If one of them cannot be read, all of them fail; from then on every value is read by itself.
  private mutating func readExcerpt() {
    guard let store = store as? any MigratableStore,
      let values = try? store.values(ofFirst: keys.prefix(Self.largestExcerptCount)),
      !values.isEmpty
    else {
      readsExcerpts = false
      return
    }
    excerpt = values[...]
  }
}
