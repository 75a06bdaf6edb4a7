/// The contents of a store's directory, in terms of the writes of its life.
///
/// Bytes that are nowhere in the recorded life are noise: a mark or a head of noise is `nil` here,
/// and noise behind the changes is ``hasNoise``.
package struct FoundStore: Hashable, Sendable {
  /// The part of a change that is at its place in the journal.
  package enum Standing: Hashable, Sendable {
    /// No part: there are zeros, the end of the file, or bytes of other changes.
    case absent
    /// Some part, but bytes that the chain covers are missing.
    ///
    /// - Parameter firstRecordOpens: Whether the first record is complete.
    case torn(firstRecordOpens: Bool)
    /// All bytes that the chain covers, but a value or name would not open.
    case tornInside(firstRecordOpens: Bool)
    /// All bytes.
    case whole
  }

  /// The contents of a header file for a key.
  package enum Header: Hashable, Sendable {
    /// There is no such file.
    case missing
    /// No slot opens with the key.
    case closed
    /// A slot opens and contains this data key.
    case opens(key: Int)
  }

  /// The journal whose head is in the file `journal`; `nil` if there is no journal.
  package var journal: Int?
  /// The mark whose bytes are in the file `mark`.
  package var mark: Int?
  /// The file `header`, or its copy if the header is damaged.
  package var header: Header
  /// The file `header.next`.
  package var nextHeader: Header = .missing
  /// The part of every change of the life that is in the file `journal`.
  package var standings: [Standing]
  /// Whether there are other bytes than zeros behind the changes.
  package var hasNoise = false

  package init(journal: Int?, mark: Int?, header: Header, standings: [Standing]) {
    self.journal = journal
    self.mark = mark
    self.header = header
    self.standings = standings
  }
}

extension FoundStore.Standing {
  /// Whether the chain continues through the change.
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
