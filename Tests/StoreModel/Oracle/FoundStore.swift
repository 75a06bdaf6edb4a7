/// What stands in a store's directory, in terms of what its life wrote.
///
/// Bytes that are nowhere in the recorded life are noise: a mark or a head that is noise is `nil`
/// here, and noise behind the changes is ``hasNoise``.
package struct FoundStore: Hashable, Sendable {
  /// How much of a change stands at its place in the journal.
  package enum Standing: Hashable, Sendable {
    /// Nothing: zeros, the end of the file, or bytes of other changes.
    case absent
    /// Something, but a part that the chain covers is missing.
    ///
    /// - Parameter firstRecordOpens: Whether the first record is there in full.
    case torn(firstRecordOpens: Bool)
    /// All that the chain covers, but some value or name would not open.
    case tornInside(firstRecordOpens: Bool)
    /// Every byte.
    case whole
  }

  /// What a key finds in a header file.
  package enum Header: Hashable, Sendable {
    /// There is no such file.
    case missing
    /// No slot opens with the key.
    case closed
    /// A slot opens, and gives this data key.
    case opens(key: Int)
  }

  /// The journal whose head stands in the file `journal`; `nil` when there is none.
  package var journal: Int?
  /// The mark whose bytes stand in the file `mark`.
  package var mark: Int?
  /// The file `header`, or its copy if the header is damaged.
  package var header: Header
  /// The file `header.next`.
  package var nextHeader: Header = .missing
  /// For every change of the life how much of it stands in the file `journal`.
  package var standings: [Standing]
  /// Whether other bytes that are not zero stand behind the changes.
  package var hasNoise = false

  package init(journal: Int?, mark: Int?, header: Header, standings: [Standing]) {
    self.journal = journal
    self.mark = mark
    self.header = header
    self.standings = standings
  }
}

extension FoundStore.Standing {
  /// Whether the chain goes on through the change.
  var isChained: Bool {
    switch self {
    case .absent, .torn: false
    case .tornInside, .whole: true
    }
  }

  var firstRecordOpens: Bool {
    switch self {
    case .absent: false
    case .torn(let opens), .tornInside(let opens): opens
    case .whole: true
    }
  }
}
