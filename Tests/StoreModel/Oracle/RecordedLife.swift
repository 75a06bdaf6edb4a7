/// Everything that a store wrote in its life so far that opening it can meet again.
///
/// Journals, changes, marks and keys have the numbers of their places in these lists. Nothing is
/// ever taken out of them: what was dropped or replaced was written, so an old disk, a backup or
/// an attacker may bring it back.
package struct RecordedLife: Hashable, Sendable {
  /// A journal that was begun, whether it ever got its name or not.
  package struct Journal: Hashable, Sendable {
    /// The mark whose hash its head holds; `nil` in a store's first journal.
    package var predecessor: Int?
    /// The data key that its chain is made with.
    package var key: Int

    package init(predecessor: Int?, key: Int) {
      self.predecessor = predecessor
      self.key = key
    }
  }

  /// A change that was written, or begun to be written.
  ///
  /// The changes of a journal form a tree, because a dropped change and the void change that was
  /// written over it stand behind the same one.
  package struct Change: Hashable, Sendable {
    package var journal: Int
    /// The change in front of it in its journal; `nil` when that is the head.
    package var previous: Int?
    /// The state of the store behind it, as an index into the history of states.
    ///
    /// In a life without restored files the states are numbered in the order in which they came,
    /// so that a greater index is a later state. A void change and a rewriting repeat the index of the state that they keep.
    package var state: Int

    package init(journal: Int, previous: Int?, state: Int) {
      self.journal = journal
      self.previous = previous
      self.state = state
    }
  }

  /// Bytes that stood in the file `mark`.
  package struct Mark: Hashable, Sendable {
    /// The journal that it names; `nil` for the random bytes that a repair puts there.
    package var journal: Int?
    /// The last change that it counts; `nil` when it counts only the head.
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

  /// A change and those in front of it in its journal, the last one first.
  func path(to change: Int?) -> [Int] {
    var path: [Int] = []
    var next = change
    while let change = next {
      path.append(change)
      next = changes[change].previous
    }
    return path
  }

  /// Whether a place in a journal (`nil` for its head) is another one, or in front of it.
  func isAtOrBefore(_ place: Int?, _ other: Int?) -> Bool {
    guard let place else { return true }
    return path(to: other).contains(place)
  }

  /// The state behind a place in a journal.
  package func state(at end: Int?) -> Int { end.map { changes[$0].state } ?? emptyState }
}
