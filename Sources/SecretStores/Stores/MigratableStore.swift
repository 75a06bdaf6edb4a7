/// A store of this package that gives a migration more information than a plain store can.
///
/// Other stores can be migrated too: item by item, and only if everything in them can be listed.
///
/// All operations block as the store's other blocking operations do.
package protocol MigratableStore: SecretStore {
  /// Returns the names of all items, or of those that can still be listed if some are damaged.
  ///
  /// - Throws: As ``SecretStore/names(in:)``, for the store as a whole.
  func listing() throws(StoreError) -> StoreListing

  /// Returns the same in parts, so that the names are never in memory together.
  ///
  /// - Throws: As ``listing()``.
  func pages() throws(StoreError) -> any StorePages

  /// Reads the values of the first of some names together, faster than one after the other.
  ///
  /// The store decides how many, within a few megabytes.
  ///
  /// - Parameter names: The names, each of them once.
  /// - Returns: The values of the first names, in their order. `nil` means that a value must be
  ///   read by itself: the item may be absent, or too large to be read with others.
  /// - Throws: As ``SecretStore/value(for:)``, also when only one of them cannot be read.
  func values(ofFirst names: ArraySlice<ItemName>) throws(StoreError) -> [SecretBytes?]

  /// Returns which of some names have items, faster than asking for one after the other.
  ///
  /// - Throws: As ``SecretStore/contains(_:)``, also when only one of them is damaged.
  func present(among names: [ItemName]) throws(StoreError) -> Set<ItemName>

  /// Returns whether an item of one of two stores may be one of the other, although their
  /// identities differ.
  func sharesItems(with other: any SecretStore) -> Bool
}

extension MigratableStore {
  /// Returns the names of a store that can list either all of them or none.
  ///
  /// - Throws: As ``SecretStore/names(in:)``.
  package func listing() throws(StoreError) -> StoreListing {
    StoreListing(names: try names(in: nil))
  }

  /// Returns one part: for stores of few items.
  package func pages() throws(StoreError) -> any StorePages { OnePage(try listing()) }

  /// Returns no values: each is read by itself.
  package func values(ofFirst names: ArraySlice<ItemName>) throws(StoreError) -> [SecretBytes?] {
    []
  }

  /// Returns `false`: two stores have no items in common.
  package func sharesItems(with other: any SecretStore) -> Bool { false }

  /// Asks for each name.
  package func present(among names: [ItemName]) throws(StoreError) -> Set<ItemName> {
    var present: Set<ItemName> = []
    for name in names where try contains(name) { present.insert(name) }
    return present
  }
}

extension SecretStore {
  /// Returns the names of all items, or, of a damaged store that is migratable, all names that it
  /// can list.
  ///
  /// - Throws: As ``SecretStore/names(in:)``, for the store as a whole.
  package func fullListing() throws(StoreError) -> StoreListing {
    if let store = self as? any MigratableStore { return try store.listing() }
    return StoreListing(names: try names(in: nil))
  }

  /// Returns the same in parts, if the store can do that.
  ///
  /// - Throws: As ``fullListing()``.
  package func listingPages() throws(StoreError) -> any StorePages {
    if let store = self as? any MigratableStore { return try store.pages() }
    return OnePage(StoreListing(names: try names(in: nil)))
  }
}

/// A store's knowledge of its items when it cannot read all of them.
package struct StoreListing: Sendable {
  /// The known names, in ascending order: reading one of them may report damage.
  package let names: [ItemName]
  /// Values that were read with the names, because that costs no more.
  package let values: [ItemName: SecretBytes]
  /// The damage that was found, and what is missing because of it, as far as that is known.
  package let damage: StoreError?
  /// What the store has and these names leave out, in the order in which it was found.
  package let omissions: [Omission]

  /// States the known items.
  package init(
    names: [ItemName], values: [ItemName: SecretBytes] = [:], damage: StoreError? = nil,
    omissions: [Omission] = []
  ) {
    self.names = names
    self.values = values
    self.damage = damage
    self.omissions = omissions
  }

  /// Reads all pages of a store.
  ///
  /// - Throws: As ``StorePages/next()``.
  package init(_ pages: any StorePages) throws(StoreError) {
    var pages = pages
    var names: [ItemName] = []
    var values: [ItemName: SecretBytes] = [:]
    var damage: StoreError?
    var omissions: [Omission] = []
    while let page = try pages.next() {
      names += page.names
      omissions += page.omissions
      values.merge(page.values) { $1 }
      damage = damage ?? page.damage
    }
    names.sortUnlessAscending()
    self.init(names: names, values: values, damage: damage, omissions: omissions)
  }
}

/// A list of a store's items in parts of up to about a thousand.
///
/// An item that is there from the first part to the last is in exactly one of them. What is put or
/// removed meanwhile may be in one or not.
package protocol StorePages {
  /// How many names there are in all parts, or about that many.
  var nameCount: Int { get }

  /// Reads the next part; `nil` behind the last one.
  ///
  /// - Throws: As ``MigratableStore/listing()``.
  mutating func next() throws(StoreError) -> StoreListing?
}

/// A list in one part.
package struct OnePage: StorePages {
  private var page: StoreListing?
  package let nameCount: Int

  package init(_ page: StoreListing) {
    self.page = page
    nameCount = page.names.count
  }

  package mutating func next() -> StoreListing? { page.take() }
}
