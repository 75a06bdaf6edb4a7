/// All writes of a store in its life so far that may be found when it is opened.
///
/// Journals, changes, marks and keys are numbered by their positions in these lists. No entry is
/// ever removed: even if it was dropped or replaced, it was written, so an old disk, a backup or an
/// attacker may bring it back.
package struct RecordedLife: Hashable, Sendable {
  /// A journal that was begun, whether or not it ever got its name.
  package struct Journal: Hashable, Sendable {
    /// The mark whose hash is in its head; `nil` for a store's first journal.
    package var predecessor: Int?
    /// The data key of its chain.
    package var key: Int

    package init(predecessor: Int?, key: Int) {
      self.predecessor = predecessor
      self.key = key
    }
  }

  /// A change that was written, at least in part.
  ///
  /// The changes of a journal form a tree, because a dropped change and the void change that was
  /// written over it follow the same change.
  package struct Change: Hashable, Sendable {
    package var journal: Int
    /// The change in front of it in its journal; `nil` if that is the head.
    package var previous: Int?
    /// The state of the store after it, as an index into the history of states.
    ///
    /// In a life without restored files the states are numbered in their order, so that a greater
    /// index is a later state. A void change and a rewriting repeat the index of the state that
    /// they keep.
    package var state: Int

    package init(journal: Int, previous: Int?, state: Int) {
      self.journal = journal
      self.previous = previous
      self.state = state
    }
  }

  /// A content of the file `mark`.
  package struct Mark: Hashable, Sendable {
    /// The journal that it names; `nil` for the random bytes of a repair.
    package var journal: Int?
    /// The last change that it counts; `nil` if it counts only the head.
    package var end: Int?

    package init(journal: Int?, end: Int?) {
      self.journal = journal
      self.end = end
    }
  }

  package var journals: [Journal] = []
  package var changes: [Change] = []
  package var marks: [Mark] = []
  /// The state of a store whose journal has only its head.
  package var emptyState = 0

  package init() {}

  /// Returns a change and all changes in front of it in its journal, the last first.
  func path(to change: Int?) -> [Int] {
    var path: [Int] = []
    var next = change
    while let change = next {
      path.append(change)
      next = changes[change].previous
    }
    return path
  }

  /// Returns whether a place in a journal (`nil` for its head) equals another or is in front of it.
  func isAtOrBefore(_ place: Int?, _ other: Int?) -> Bool {
    guard let place else { return true }
    return path(to: other).contains(place)
  }

  /// Returns the state after a place in a journal.
  package func state(at end: Int?) -> Int { end.map { changes[$0].state } ?? emptyState }
}
