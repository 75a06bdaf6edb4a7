extension World {
  /// Compares the mark with the one that an open reader last saw.
  mutating func compareMark(_ process: Int, _ run: inout Run) throws(Violation) {
    guard let view = processes[process].view else { return }
    if disk[.mark] != view.markFile || disk[.journal] != view.journalFile {
      // It checks the names at most every 100 ms.
      if processes[process].isNameCheckDue || run.flip() {
        processes[process].isNameCheckDue = false
        return planOpening(process)
      }
    }
    let mark = disk.files[view.markFile].content
    if mark == view.mark { return plan([.answer], process) }
    guard case .mark(let number) = mark, life.marks[number].journal == view.journal else {
      // The mark is for another journal, or its check is wrong with the current chain key.
      return planOpening(process)
    }
    let end = life.marks[number].end
    guard isWalkPossible(from: view, to: end) || !scenario.rules.neverGoesBack else {
      return plan([.takeLock, .inspect], process)
    }
    processes[process].view?.end = end
    processes[process].view?.mark = mark
    plan([.answer], process)
  }

  /// Returns whether an open journal continues from the view's end to another one.
  private func isWalkPossible(from view: View, to end: Int?) -> Bool {
    guard life.isAtOrBefore(view.end, end) else { return false }
    let cells = disk.files[view.journalFile].cached
    return life.path(to: end).allSatisfy { standing(of: $0, in: cells).isChained }
  }

  /// Accepts the found state as the store, unless an open store would go back.
  mutating func accept(
    _ recovery: Recovery, end: Int?, _ process: Int, _ run: inout Run
  ) throws(Violation) {
    if try refuses(recovery, end: end, process, &run) { return }
    setView(recovery, end: end, process)
    plan([.arrive], process)
  }

  mutating func setView(_ recovery: Recovery, end: Int?, _ process: Int) {
    guard let journalFile = disk[.journal],
      case .head(let journal)? = disk.files[journalFile].cached.first
    else { return }
    let past = processes[process].view
    processes[process].view = View(
      journalFile: journalFile, markFile: processes[process].task.markFile, journal: journal,
      end: end, mark: processes[process].task.mark,
      isNameDurable: past?.journalFile == journalFile && past?.isNameDurable == true)
  }

  /// Returns whether the found state is earlier than the one that the open store saw.
  ///
  /// Without the lock it is read again with the lock; with the lock, the files were restored.
  mutating func refuses(
    _ recovery: Recovery, end: Int?, _ process: Int, _ run: inout Run
  ) throws(Violation) -> Bool {
    guard let past = processes[process].view, scenario.rules.neverGoesBack,
      let file = disk[.journal], case .head(let journal)? = disk.files[file].cached.first
    else { return false }
    let isBack: Bool
    if journal == past.journal, scenario.rules.checksOwnEnd {
      isBack = !life.isAtOrBefore(past.end, end)
    } else {
      let isMadeUpFor = recovery.drops && !scenario.rules.judgesBeforeDropping
      isBack =
        version(of: journal, at: end) + (isMadeUpFor ? 1 : 0)
        < version(of: past.journal, at: past.end)
    }
    guard isBack else { return false }
    if lock.isHeld(by: process) {
      try failAsCorrupt(process, "the files were put back", &run)
    } else {
      plan([.takeLock, .inspect], process)
    }
    return true
  }

  /// Returns whether an open reader that finds a lower mark only writes its own mark again.
  ///
  /// This is the wrong rule, which ignores changes that may be behind it.
  func writesOnlyOwnMark(instead recovery: Recovery, _ process: Int) -> Bool {
    guard !scenario.rules.recoversLostMark, let view = processes[process].view,
      processes[process].task.operation == .read, view.journalFile == disk[.journal]
    else { return false }
    return recovery.marked != view.end && life.isAtOrBefore(recovery.marked, view.end)
      && life.isAtOrBefore(view.end, recovery.end)
  }
}
