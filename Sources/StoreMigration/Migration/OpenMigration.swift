package import SecretStores

/// A migration that was begun and not closed, as its journal has it.
package struct OpenMigration: Sendable {
  /// How far it is.
  package let state: Migration.State
  /// How far it is, in words: "removing from the source, 26 of 300".
  package let progress: String
  /// The identities of the stores, if these are known.
  package let source: String?
  package let target: String?
  /// Whether the items were, or are to be, removed from the source.
  package let deletesSource: Bool

  /// Reads the migration of a journal; `nil` if it has none.
  ///
  /// - Parameter store: The journal, in which another process may be working meanwhile.
  /// - Throws: As reading the store; `corrupt` or `unsupportedVersion`.
  package init?(inJournal store: any SecretStore) throws(StoreError) {
    let journal = MigrationJournal(store: store)
    guard let header = try journal.header(), let state = header.phase.state else { return nil }
    self.state = state
    progress = try Self.progress(header, journal)
    (source, target) = (header.source, header.target)
    deletesSource = header.options.deletesSource
  }

  private static func progress(
    _ header: MigrationJournal.Header, _ journal: MigrationJournal
  ) throws(StoreError) -> String {
    let count = header.itemCount
    func itemCount(of set: MigrationJournal.Items) throws(StoreError) -> Int {
      var itemCount = 0
      for number in 0..<header.batchCount {
        itemCount += try journal.positions(of: set, number + 1).count
      }
      return itemCount
    }
    switch header.phase {
    case .copying: return "copying, \(header.begunCount) of \(count)"
    case .copied where header.options.deletesSource:
      return "removing from the source, \(try itemCount(of: .removed)) of \(count)"
    case .copied: return "comparing, \(count) copied"
    case .finished:
      return
        "finished, \(count) copied, \(try itemCount(of: .removed)) removed from the source"
    case .undoing: return "undoing"
    case .undoneInPart:
      return "undone, but for \(try itemCount(of: .failed)) of \(header.begunCount)"
    case .undone: return "undone"
    case .closing: return "closing"
    }
  }
}

extension MigrationJournal.Header.Phase {
  /// The state of a migration in this phase; `nil` if it no longer counts as one.
  var state: Migration.State? {
    switch self {
    case .copying, .copied: .unfinished
    case .finished: .finished
    case .undoing, .undoneInPart: .undoing
    case .undone: .undone
    case .closing: nil
    }
  }
}
