extension World {
  /// Plans how a process opens the store without the lock.
  mutating func planOpening(_ process: Int) {
    plan(
      scenario.changesKeys
        ? [.readHeaders, .readMark, .readJournal] : [.readMark, .readJournal], process)
  }

  mutating func open(_ step: Step, _ process: Int, _ run: inout Run) throws(Violation) {
    switch step {
    case .takeLock:
      takeLock(process)
    case .awaitLockOrMark:
      try endWaiting(process, &run)
    case .readHeaders:
      readHeaders(process)
    case .readMark:
      if !scenario.changesKeys { readHeaders(process) }
      readMark(process)
      note("finds \(processes[process].task.mark)", process, &run)
    case .readJournal:
      try judge(process, &run)
    case .inspect:
      readHeaders(process)
      readMark(process)
      try judge(process, &run)
    case .synchronizeForReading:
      if let file = disk[.journal] { disk.files[file].synchronize() }
    case .readDirectly:
      try readDirectly(process, &run)
    default:
      break
    }
  }

  private mutating func takeLock(_ process: Int) {
    if canWrite(process) { lock.writer = process } else { lock.readers.append(process) }
  }

  private mutating func readHeaders(_ process: Int) {
    processes[process].task.headers = [disk.content(.header), disk.content(.nextHeader)]
  }

  private mutating func readMark(_ process: Int) {
    processes[process].task.mark = disk.content(.mark)
    processes[process].task.markFile = disk[.mark] ?? 0
  }

  /// Returns the result of opening with the headers and the mark that the process read.
  private func answer(_ process: Int, isDirect: Bool) -> CommitAnswer {
    let task = processes[process].task
    let journal = disk[.journal].map {
      isDirect ? disk.files[$0].onDisk : disk.files[$0].cached
    }
    let found = found(
      journal: journal, mark: task.mark, headers: task.headers, slot: script(of: process).slot)
    return CommitOracle(life, rules: scenario.rules).answer(for: found)
  }

  private mutating func judge(_ process: Int, _ run: inout Run) throws(Violation) {
    let isLocked = lock.isHeld(by: process)
    switch answer(process, isDirect: false) {
    case .wrongKey:
      guard ledger.revokedSlots.contains(script(of: process).slot) else {
        throw Violation("\(script(of: process).name): the key does not open the store")
      }
      fail(process, "wrong key", &run)
    case .corrupt(let reason):
      // Without the lock the files may be from different moments.
      if !isLocked { return plan([.takeLock, .inspect], process) }
      if processes[process].task.operation == .repair { return planRepair(process) }
      try failAsCorrupt(process, "\(reason)", &run)
    case .state(let recovery):
      if recovery.isNeeded {
        try recover(recovery, process, &run)
      } else {
        try accept(recovery, end: recovery.end, process, &run)
      }
    }
  }

  /// Continues if there is something behind the mark.
  private mutating func recover(
    _ recovery: Recovery, _ process: Int, _ run: inout Run
  ) throws(Violation) {
    let isWriting = processes[process].task.operation != .read
    if !lock.isHeld(by: process) {
      let isFree = lock.canTake(exclusively: canWrite(process))
      if processes[process].task.takesMarkAsIs || (!scenario.rules.openerWaits && !isFree) {
        return try accept(recovery, end: recovery.marked, process, &run)
      }
      note("waits for the lock or the mark", process, &run)
      return plan([.awaitLockOrMark], process)
    }
    if !canWrite(process) {
      if isWriting { return fail(process, "read-only", &run) }
      return plan(
        scenario.rules.readsDirect
          ? [.synchronizeForReading, .readDirectly] : [.readDirectly], process)
    }
    if isWriting, !scenario.rules.recoversBeforeWriting {
      return try accept(recovery, end: recovery.marked, process, &run)
    }
    if writesOnlyOwnMark(instead: recovery, process) {
      return plan([.writeOwnMark, .arrive], process)
    }
    if try !refuses(recovery, end: recovery.end, process, &run) {
      planRecovery(recovery, process)
    }
  }

  /// Lets a reader that cannot write count, only for itself, the changes that are whole on the
  /// disk.
  private mutating func readDirectly(_ process: Int, _ run: inout Run) throws(Violation) {
    switch answer(process, isDirect: scenario.rules.readsDirect) {
    case .state(let recovery):
      try accept(recovery, end: recovery.end, process, &run)
    case .corrupt(let reason):
      try failAsCorrupt(process, "\(reason)", &run)
    case .wrongKey:
      fail(process, "wrong key", &run)
    }
  }

  /// Returns whether the mark is the one that a waiting process waits for.
  func isMarkAwaited(by process: Int) -> Bool {
    let mark = disk.content(.mark)
    guard mark != processes[process].task.mark else { return false }
    return !scenario.rules.waitsForHigherMark
      || version(of: mark) > version(of: processes[process].task.mark)
  }

  private func version(of mark: Cell) -> Int {
    guard case .mark(let number) = mark, let journal = life.marks[number].journal else {
      return -1
    }
    return version(of: journal, at: life.marks[number].end)
  }

  private mutating func endWaiting(_ process: Int, _ run: inout Run) throws(Violation) {
    if lock.canTake(exclusively: canWrite(process)) {
      takeLock(process)
      return plan([.inspect], process)
    }
    note("takes the mark as it is", process, &run)
    processes[process].task.takesMarkAsIs = true
    // It reads the mark that it waited for now: the file may contain an older mark a moment later.
    readHeaders(process)
    readMark(process)
    plan([.readJournal], process)
  }
}
