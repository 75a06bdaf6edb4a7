extension World {
  /// An open reader compares the mark with the one that it saw last.
  mutating func compareMark(_ process: Int, _ run: inout Run) throws(Violation) {
    guard let view = processes[process].view else { return }
    if disk[.mark] != view.markFile || disk[.journal] != view.journalFile {
      // It looks at the names at most every 100 ms.
      if processes[process].isLookAtNamesDue || run.flip() {
        processes[process].isLookAtNamesDue = false
        return planOpening(process)
      }
    }
    let mark = disk.files[view.markFile].content
    if mark == view.mark { return plan([.answer], process) }
    guard case .mark(let number) = mark, life.marks[number].journal == view.journal else {
      // Another journal, or a check that is not right with the chain key at hand.
      return planOpening(process)
    }
    let end = life.marks[number].end
    guard isWalkPossible(from: view, to: end) || !scenario.rules.neverGoesBack else {
      return plan([.takeLock, .look], process)
    }
    processes[process].view?.end = end
    processes[process].view?.mark = mark
    plan([.answer], process)
  }

  /// Whether an open journal goes on from its own end to another one.
  private func isWalkPossible(from view: View, to end: Int?) -> Bool {
    guard life.isAtOrBefore(view.end, end) else { return false }
    let cells = disk.files[view.journalFile].cached
    return life.path(to: end).allSatisfy { standing(of: $0, in: cells).isChained }
  }

  /// Takes what was found as the store, unless an open store would go back.
  mutating func accept(
    _ settlement: Settlement, end: Int?, _ process: Int, _ run: inout Run
  ) throws(Violation) {
    if try refuses(settlement, end: end, process, &run) { return }
    setView(settlement, end: end, process)
    plan([.arrive], process)
  }

  mutating func setView(_ settlement: Settlement, end: Int?, _ process: Int) {
    guard let journalFile = disk[.journal],
      case .head(let journal)? = disk.files[journalFile].cached.first
    else { return }
    let past = processes[process].view
    processes[process].view = View(
      journalFile: journalFile, markFile: processes[process].task.markFile, journal: journal,
      end: end, mark: processes[process].task.mark,
      isNameDurable: past?.journalFile == journalFile && past?.isNameDurable == true)
  }

  /// Whether what was found is behind what the open store saw.
  ///
  /// Without the lock it looks again with the lock; with the lock, the files were put back.
  mutating func refuses(
    _ settlement: Settlement, end: Int?, _ process: Int, _ run: inout Run
  ) throws(Violation) -> Bool {
    guard let past = processes[process].view, scenario.rules.neverGoesBack,
      let file = disk[.journal], case .head(let journal)? = disk.files[file].cached.first
    else { return false }
    let isBack: Bool
    if journal == past.journal, scenario.rules.checksOwnEnd {
      isBack = !life.isAtOrBefore(past.end, end)
    } else {
      let isMadeUpFor = settlement.drops && !scenario.rules.judgesBeforeDropping
      isBack =
        version(of: journal, at: end) + (isMadeUpFor ? 1 : 0)
        < version(of: past.journal, at: past.end)
    }
    guard isBack else { return false }
    if lock.isHeld(by: process) {
      try failAsCorrupt(process, "the files were put back", &run)
    } else {
      plan([.takeLock, .look], process)
    }
    return true
  }

  /// Whether an open reader that finds a lower mark only writes its own again: the rule that
  /// takes no notice of what may stand behind.
  func writesOnlyOwnMark(instead settlement: Settlement, _ process: Int) -> Bool {
    guard !scenario.rules.settlesLostMark, let view = processes[process].view,
      processes[process].task.operation == .read, view.journalFile == disk[.journal]
    else { return false }
    return settlement.marked != view.end && life.isAtOrBefore(settlement.marked, view.end)
      && life.isAtOrBefore(view.end, settlement.end)
  }
}
