import SecretStores

/// The names that a repair gives to records whose values open and whose names do not.
struct RestoredNames: Sendable {
  /// The records, with the names to use.
  private(set) var entries: [(entry: ItemIndex.Entry, name: ItemName)] = []
  /// The names that came from other records of the items.
  private(set) var renamed: [ItemName] = []
  /// The names of items whose own names do not open anywhere.
  private(set) var recovered: [ItemName] = []
  private var names: [ItemTag: ItemName] = [:]

  init() {}

  /// Chooses the names.
  ///
  /// - Parameters:
  ///   - values: The records that are kept, one for each item.
  ///   - survey: The records of the damaged journal.
  ///   - journal: The identifier of the damaged journal, which no other journal has: no item can
  ///     already have the new name.
  /// - Throws: Nothing that can happen: the new names are valid.
  init(
    of values: [JournalSurvey.Found], _ survey: JournalSurvey, journal: JournalIdentifier
  ) throws(StoreError) {
    for record in values where !record.hasName {
      let tag = record.prefix.tag
      let name: ItemName
      if let known = survey.names[tag] {
        name = known
        renamed.append(known)
      } else {
        name = try Self.newName(record, journal)
        recovered.append(name)
      }
      names[tag] = name
      entries.append((record.entry, name))
    }
    entries.sort { $0.entry.offset < $1.entry.offset }
    renamed.sort()
    recovered.sort()
  }

  private static func newName(
    _ record: JournalSurvey.Found, _ journal: JournalIdentifier
  ) throws(StoreError) -> ItemName {
    try ItemName(
      "damaged-\(journal.bytes.hexadecimal)-byte-\(record.offset)", in: "recovered")
  }

  /// Returns the name under which a record is kept.
  func name(of record: JournalSurvey.Found, _ survey: JournalSurvey) -> ItemName? {
    names[record.prefix.tag] ?? survey.names[record.prefix.tag]
  }
}
