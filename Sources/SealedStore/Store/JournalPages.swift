import SecretStores

/// The names in a store as they were when reading began, in the order of their records' places.
///
/// The file stays open, so that what is written meanwhile changes nothing.
struct JournalPages: StorePages {
  private static let pageCount = 1000

  private let store: SealedFileStore
  private let file: OpenFile
  private let journal: JournalIdentifier
  private let ring: KeyRing
  private var rest: ArraySlice<ItemIndex.Entry>
  let nameCount: Int

  /// - Throws: `locked`, `corrupt`, `accessDenied` or `io`.
  init(of store: SealedFileStore) throws(StoreError) {
    self.store = store
    let (file, journal, ring, entries) = try store.withCurrentState { open throws(StoreError) in
      let view = try open.soundJournal(in: store.directory)
      return (view.file, view.head.journal, open.keys, view.index.entries)
    }
    (self.file, self.journal, self.ring) = (file, journal, ring)
    rest = entries.sorted { $0.offset < $1.offset }[...]
    nameCount = rest.count
  }

  /// Reads the next 1,000 names; the keys of the store are in use only meanwhile.
  ///
  /// Behind a damaged name, the last page has all other names that open.
  ///
  /// - Throws: `locked`; `changed` when the store got other keys meanwhile, or was compacted before
  ///   a name turned out to be damaged; or `io`.
  mutating func next() throws(StoreError) -> StoreListing? {
    guard let first = rest.first else { return nil }
    let page = rest.prefix(Self.pageCount)
    try store.withState { open throws(StoreError) in
      guard open.keys === ring else {
        throw StoreError(
          .changed, store: store.path, reason: "its keys were changed while its items were listed",
          remedy: "Try again")
      }
      ring.beginUse()
    }
    defer { ring.endUse() }
    do throws(StoreError) {
      let names = try store.readNames(of: page, in: nil, of: journal, file, ring)
      rest = rest[page.endIndex...]
      return StoreListing(names: names)
    } catch let error where error.code == .corrupt {
      rest = []
      return try store.damagedListing(error, from: first.offset, of: journal)
    }
  }
}
