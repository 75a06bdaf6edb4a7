public import SecretStores

extension SealedFileStore: LocatedStore {
  /// The number of bytes of the journal from which on an excerpt gets no further values.
  private static let excerptByteCount = 4 << 20

  /// Returns the store's identifier, which a copy of its directory has, too.
  ///
  /// - Throws: `locked`.
  public func identity() throws(StoreError) -> String? {
    "sealed " + (try withState { $0.header.store.bytes.hexadecimal })
  }

  /// Returns what no copy of its directory has, and every path to it has: the identity of a file.
  ///
  /// - Throws: `locked`, `accessDenied` or `io`.
  package func location() throws(StoreError) -> String? {
    guard let lock = try directory.status(of: StoreFile.lock) else { return nil }
    return try identity().map { "\($0), file \(lock.device):\(lock.inode)" }
  }

  /// Returns whether both stores have the same files, whatever their paths are.
  ///
  /// - Throws: `io`.
  package func isSameStore(as other: SealedFileStore) throws(StoreError) -> Bool {
    guard let lock = try directory.status(of: StoreFile.lock),
      let otherLock = try other.directory.status(of: StoreFile.lock)
    else { return path == other.path }
    return lock.isSameFile(as: otherLock)
  }

  /// Returns the names of all items, including damaged ones if a record with the name still opens.
  ///
  /// - Throws: `locked`, `corrupt` when no journal can be used, `accessDenied` or `io`.
  package func listing() throws(StoreError) -> StoreListing {
    try StoreListing(pages())
  }

  /// Returns the same in parts, in the order of the journal; takes 32 bytes an item.
  ///
  /// All names are read again, and kept ones are not used: damage must be reported.
  ///
  /// - Throws: As ``listing()``.
  package func pages() throws(StoreError) -> any StorePages {
    do throws(StoreError) {
      return try JournalPages(of: self)
    } catch let error where error.code == .corrupt {
      return OnePage(try damagedListing(error))
    }
  }

  /// Returns the names that a damaged journal still has.
  ///
  /// - Parameters:
  ///   - damage: What is wrong with the journal.
  ///   - start: Items whose records begin before this are left out.
  ///   - listed: The journal that this is a place in; `nil` for the one that the store has now.
  /// - Returns: The names, and the damage with what is missing.
  /// - Throws: As ``listing()``; `changed` when the store has another journal by now.
  func damagedListing(
    _ damage: StoreError, from start: UInt64 = 0, of listed: JournalIdentifier? = nil
  ) throws(StoreError) -> StoreListing {
    let (file, journal, keys, end, index, behind) = try withState { open throws(StoreError) in
      let view = try open.usableJournal()
      // After a compaction its records have other places.
      guard listed == nil || listed == view.head.journal else {
        throw StoreError(
          .changed, store: path, reason: "it was compacted while its items were listed",
          remedy: "Try again")
      }
      open.keys.beginUse()
      return (
        view.file, view.head.journal, open.keys, view.recordsEnd, view.index, view.damage
      )
    }
    defer { keys.endUse() }
    let survey = try JournalSurvey(
      file, in: JournalHead.byteCount..<end, journal: journal, keys: keys, progress: nil)
    // Behind a break anything may have been put or removed: reading each item shows it.
    let names = survey.names.filter { name in
      guard let entry = index[name.key] else { return behind != nil }
      return entry.offset >= start
    }
    let namelessCount = index.entries.count { $0.offset >= start && names[$0.tag] == nil }
    let missing =
      if behind != nil, behind?.tagsBehind == nil {
        "items whose records are damaged may be missing here"
      } else if namelessCount > 0 {
        "\(namelessCount) \(namelessCount == 1 ? "item" : "items") without a readable name "
          + "\(namelessCount == 1 ? "is" : "are") missing here"
      } else {
        "no item is missing here"
      }
    return StoreListing(
      names: names.values.sorted(),
      damage: StoreError(
        damage.code, store: damage.store, reason: "\(damage.reason); \(missing)",
        remedy: damage.remedy))
  }

  /// Reads the first of some values, up to some megabytes, in the order of their places in the
  /// journal.
  ///
  /// - Throws: `locked`, `corrupt` when one of them was changed, `accessDenied` or `io`.
  package func values(
    ofFirst names: ArraySlice<ItemName>
  ) throws(StoreError) -> [SecretBytes?] {
    var positions: [UInt64: Int] = [:]
    var nameCount = 0
    let (file, journal, ring, found) = try withCurrentState { open throws(StoreError) in
      let view = try open.soundJournal(in: directory)
      var found: [ItemIndex.Entry] = []
      var byteCount = 0
      for name in names {
        guard byteCount < Self.excerptByteCount else { break }
        if let entry = view.index[ItemTag(of: name, tagKey: open.keys.tagKey)] {
          positions[entry.offset] = nameCount
          found.append(entry)
          byteCount += entry.recordByteCount
        }
        nameCount += 1
      }
      open.keys.beginUse()
      return (view.file, view.head.journal, open.keys, found)
    }
    defer { ring.endUse() }
    var values = [SecretBytes?](repeating: nil, count: nameCount)
    try ItemReader(file, journal: journal, keys: ring, .value).forEach(
      found, progress: nil, failure: { corruptRecord($0.offset, "it was changed") }
    ) { record, entry in
      if let position = positions[entry.offset] { values[position] = record.value }
    }
    return values
  }
}
