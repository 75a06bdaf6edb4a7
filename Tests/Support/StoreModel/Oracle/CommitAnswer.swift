/// The required result of opening a store.
package enum CommitAnswer: Hashable, Sendable {
  /// The store opens.
  case state(Recovery)
  /// The store is damaged, and only a repair opens it.
  case corrupt(CorruptReason)
  /// The key opens no slot of the journal's header.
  case wrongKey

  /// The state that a reader sees, as an index into the history of states.
  package var state: Int? {
    if case .state(let recovery) = self { recovery.state } else { nil }
  }
}

/// The way in which a store opens, and the writes that are needed before it is used.
package struct Recovery: Hashable, Sendable {
  /// The state behind ``end``.
  package var state: Int
  /// The last change that the mark counts; `nil` if it counts only the journal's head.
  package var marked: Int?
  /// The last change that counts.
  package var end: Int?
  /// Whether bytes other than zeros are behind ``end``, which must be dropped.
  package var drops: Bool
  /// Whether the mark is the predecessor's, so that the journal's name may not be on the disk.
  package var isByPredecessor: Bool
  /// Whether the journal is from a rotation whose header must still be put in place.
  package var isUnfinishedRotation: Bool

  /// Whether there are bytes other than zeros behind the mark.
  package var isNeeded: Bool { marked != end || drops }
}

/// The reason why a store is corrupt.
package enum CorruptReason: Hashable, Sendable {
  case noJournal
  case noHeader
  case noMark
  /// No header has the key of the journal's chain.
  case journalOfAnotherKey
  /// The mark names another journal, and is not the predecessor's.
  case markOfAnotherJournal
  /// The journal differs from the mark in front of the mark's end.
  case journalDoesNotMeetMark
  /// The first change of a journal with a predecessor is not whole.
  case unfinishedRewriting
  /// A record opens behind the place where the chain breaks off.
  case recordBehindBreak
}
