import SessionToolsBase

/// Reads the values of keys one after the other, many at once where a store can do that.
struct ValueReader {
  /// How many keys are offered to a store at once.
  private static let largestExcerptCount = 5000

  private let store: any SecretStore
  private var keys: ArraySlice<StoreKey>
  private var excerpt: ArraySlice<SecretBytes?> = []
  private var readsExcerpts: Bool
  private let known: [StoreKey: SecretBytes]

  /// - Parameters:
  ///   - store: Where the values are.
  ///   - keys: Whose values are wanted, in this order.
  ///   - known: Values that were read with the keys.
  init(_ store: any SecretStore, _ keys: [StoreKey], known: [StoreKey: SecretBytes] = [:]) {
    self.store = store
    self.keys = keys[...]
    self.known = known
    readsExcerpts = store is any MigratableStore
  }

  /// The value of the next key, as it is now or was a few thousand keys ago.
  ///
  /// - Throws: As reading the store.
  mutating func next() throws(StoreError) -> SecretBytes? {
    // What is not known of a store that gave some is not for excerpts either.
    if known.isEmpty, excerpt.isEmpty, readsExcerpts { readExcerpt() }
    guard let key = keys.popFirst() else { preconditionFailure("one value for each key") }
    if let value = known[key] { return value }
    if let value = excerpt.popFirst() ?? nil { return value }
    return try store.value(for: key)
  }

  /// One that cannot be read fails all with it: from then on every value is read by itself.
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
