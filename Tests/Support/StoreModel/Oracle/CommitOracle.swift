/// The oracle of the result that the commit protocol requires for any contents of a disk.
///
/// The model's own processes open their store with it, so that the results of the search hold for
/// the oracle too. A crash test of the real store uses it in this way:
///
/// 1. It records a life on a recording file system and notes, in a ``RecordedLife``, each journal
///    (when its head is written to `journal` or `journal.next`), each change (each write behind a
///    head, with the change in front of it and the index of the state behind it) and each mark
///    (each write of 64 bytes to `mark`).
/// 2. In a state that a crash may leave, it compares bytes: the head in `journal` with the recorded
///    heads, the file `mark` with the recorded marks, and the bytes at the place of each change
///    with those that were written there. That gives a ``FoundStore``. A test that does not know
///    which bytes the chain covers uses `.torn(firstRecordOpens: false)` for all changes that are
///    neither whole nor absent; this makes no difference for any state that a crash leaves.
/// 3. It opens the store and compares the result with ``answer(for:)``, which is exact, and calls
///    ``problem(with:confirmed:begun:)``, which returns whether the rules themselves kept the
///    promises from before the cut.
package struct CommitOracle: Sendable {
  package let life: RecordedLife
  private let rules: Rules

  package init(_ life: RecordedLife) {
    self.init(life, rules: Rules())
  }

  /// Makes an oracle for a store that omits some rules.
  init(_ life: RecordedLife, rules: Rules) {
    self.life = life
    self.rules = rules
  }

  /// Returns the required result of opening a store.
  package func answer(for found: FoundStore) -> CommitAnswer {
    guard let journal = found.journal else { return .corrupt(.noJournal) }
    let isUnfinishedRotation: Bool
    switch judgeKeys(of: found, journal: journal) {
    case .refused(let answer): return answer
    case .fits(let isNext): isUnfinishedRotation = isNext
    }
    guard let mark = found.mark else { return .corrupt(.noMark) }
    switch markedEnd(mark, journal: journal, found) {
    case .refused(let answer):
      return answer
    case .end(let marked, let isByPredecessor):
      guard let (end, drops) = recoveredEnd(behind: marked, journal: journal, found) else {
        return .corrupt(.recordBehindBreak)
      }
      return .state(
        Recovery(
          state: life.state(at: end), marked: marked, end: end, drops: drops,
          isByPredecessor: isByPredecessor, isUnfinishedRotation: isUnfinishedRotation))
    }
  }

  private enum KeyJudgement {
    case fits(isNext: Bool)
    case refused(CommitAnswer)
  }

  /// Checks whether the header, or else the next header, has the journal's key.
  private func judgeKeys(of found: FoundStore, journal: Int) -> KeyJudgement {
    let key = life.journals[journal].key
    switch found.header {
    case .missing: return .refused(.corrupt(.noHeader))
    case .closed: return .refused(.wrongKey)
    case .opens(key): return .fits(isNext: false)
    case .opens: break
    }
    switch found.nextHeader {
    case .opens(key): return .fits(isNext: true)
    // A revocation drops the key's slot.
    case .closed: return .refused(.wrongKey)
    case .missing, .opens: return .refused(.corrupt(.journalOfAnotherKey))
    }
  }

  private enum MarkJudgement {
    case end(Int?, isByPredecessor: Bool)
    case refused(CommitAnswer)
  }

  /// Returns the last change that the mark counts.
  private func markedEnd(_ mark: Int, journal: Int, _ found: FoundStore) -> MarkJudgement {
    let predecessor = life.journals[journal].predecessor
    if life.marks[mark].journal == journal {
      let end = life.marks[mark].end
      // A rewritten journal counts only from the end of its first change on.
      let meets = (end != nil || predecessor == nil) && isChained(to: end, found)
      return meets ? .end(end, isByPredecessor: false) : .refused(.corrupt(.journalDoesNotMeetMark))
    }
    guard let predecessor, predecessor == mark || !rules.checksPredecessor else {
      return .refused(.corrupt(.markOfAnotherJournal))
    }
    let first = next(after: nil, journal: journal, found)
    guard first != nil || !rules.requiresFirstChangeWhole else {
      return .refused(.corrupt(.unfinishedRewriting))
    }
    return .end(first, isByPredecessor: true)
  }

  private func isChained(to end: Int?, _ found: FoundStore) -> Bool {
    life.path(to: end).allSatisfy { found.standings[$0].isChained }
  }

  /// Returns the change that is behind a place and chained to it.
  private func next(after place: Int?, journal: Int, _ found: FoundStore) -> Int? {
    life.changes.indices.first {
      life.changes[$0].journal == journal && life.changes[$0].previous == place
        && found.standings[$0].isChained
    }
  }

  /// Returns the last change that counts, and whether there are remains behind it.
  ///
  /// Returns `nil` if an unfinished write cannot be the reason for the remains.
  private func recoveredEnd(
    behind marked: Int?, journal: Int, _ found: FoundStore
  ) -> (end: Int?, drops: Bool)? {
    var walk: [Int] = []
    while let change = next(after: walk.last ?? marked, journal: journal, found) {
      walk.append(change)
    }
    let brokeOff = walk.last ?? marked
    var counted = walk[...]
    if let last = walk.last, found.standings[last] != .whole, rules.opensLastChange {
      counted.removeLast()
    }
    let left = life.changes.indices.filter { change in
      life.changes[change].journal == journal && found.standings[change] != .absent
        && !counted.contains(change) && !life.isAtOrBefore(change, marked)
    }
    let isPassed = { (change: Int) in
      walk.contains(change) || life.changes[change].previous == brokeOff
    }
    if rules.searchesBehindBreak,
      left.contains(where: { found.standings[$0].firstRecordOpens && !isPassed($0) })
    {
      return nil
    }
    return (counted.last ?? marked, !left.isEmpty || found.hasNoise)
  }
}

extension CommitOracle {
  /// Checks whether an answer keeps the promises from before the machine stopped.
  ///
  /// - Parameters:
  ///   - answer: The result of opening.
  ///   - confirmed: The furthest state that was confirmed, or that a process read.
  ///   - begun: The furthest state of any change that had begun.
  /// - Returns: A description of the problem, or `nil`.
  package func problem(
    with answer: CommitAnswer, confirmed: Int, begun: Int
  ) -> String? {
    switch answer {
    case .corrupt(let reason): return "corrupt after a crash: \(reason)"
    case .wrongKey: return "the key opens no slot after a crash"
    case .state(let recovery):
      if recovery.state < confirmed {
        return "state \(recovery.state) was found, but \(confirmed) was confirmed or read"
      }
      if recovery.state > begun {
        return "state \(recovery.state) was found, but no change beyond \(begun) had begun"
      }
      return nil
    }
  }
}
