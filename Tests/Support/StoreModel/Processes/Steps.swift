extension World {
  /// Performs the next step of a process, and the following steps without an effect on others.
  mutating func step(_ process: Int, _ run: inout Run) throws(Violation) {
    repeat {
      try stepOnce(process, &run)
    } while isNextStepUndetected(process)
  }

  /// Returns whether the next step touches nothing that is shared.
  ///
  /// An answer that comes immediately can only make the requirements for later answers stricter.
  private mutating func isNextStepUndetected(_ process: Int) -> Bool {
    switch processes[process].steps.last {
    case .arrive, .answer, .confirm: true
    case .synchronizeDirectoryOnce:
      !disk.hasPendingNames || processes[process].view?.isNameDurable == true
    default: false
    }
  }

  private mutating func stepOnce(_ process: Int, _ run: inout Run) throws(Violation) {
    guard let step = processes[process].steps.popLast() else {
      let operation = script(of: process).operations[processes[process].begunCount]
      processes[process].begunCount += 1
      return try begin(operation, process, &run)
    }
    switch step {
    case .takeLock, .awaitLockOrMark, .readHeaders, .readMark, .readJournal, .inspect,
      .synchronizeForReading, .readDirectly:
      try open(step, process, &run)
    case .compareMark:
      try compareMark(process, &run)
    case .writeAgain, .cutOff, .writeVoid, .writeOwnMark:
      recover(step, process, &run)
    case .arrive:
      arrive(process, &run)
    case .writeChange, .cutBack, .failForSpace, .synchronizeJournal, .synchronizeDirectoryOnce,
      .writeMark, .synchronizeDirectory:
      write(step, process, &run)
    case .writeMarkAgain, .writeRandomMark, .synchronizeMark, .writeNextHeader,
      .writeNextJournal, .synchronizeNextJournal, .renameJournal, .putHeader, .removeNextHeader,
      .waitForReaders:
      rewrite(step, process, &run)
    case .answer:
      try answer(process, isConfirmation: false, &run)
    case .confirm:
      try answer(process, isConfirmation: true, &run)
    }
  }

  /// Adds steps that a process performs before its remaining steps.
  mutating func plan(_ steps: [Step], _ process: Int) {
    processes[process].steps += steps.reversed()
  }

  private mutating func begin(
    _ operation: Operation, _ process: Int, _ run: inout Run
  ) throws(Violation) {
    processes[process].task = Task()
    processes[process].task.operation = operation
    processes[process].task.floor = ledger.floor
    switch operation {
    case .read:
      if processes[process].view == nil {
        planOpening(process)
      } else {
        plan([.compareMark], process)
      }
    case .put, .compact, .rotate, .revoke, .repair:
      plan([.takeLock, .inspect], process)
    case .close:
      processes[process].view = nil
      processes[process].seen = []
    case .keepCopy, .putBack, .tear, .putChangeBack, .damageRecord, .damageMark:
      try interfere(operation, process, &run)
    }
  }

  /// Returns whether a process can write to the store's directory.
  func canWrite(_ process: Int) -> Bool {
    script(of: process).access == .readWrite && !isReadOnly
  }

  /// Ends an operation that failed: the store must be opened again.
  mutating func fail(_ process: Int, _ reason: String, _ run: inout Run) {
    note("fails: \(reason)", process, &run)
    processes[process].view = nil
    processes[process].seen = []
    end(process)
  }

  /// Ends an operation.
  mutating func end(_ process: Int) {
    lock.release(process)
    processes[process].steps = []
    processes[process].task = Task()
  }

  /// Reports the store as corrupt, which is wrong unless something else changed its files.
  mutating func failAsCorrupt(
    _ process: Int, _ reason: String, _ run: inout Run
  ) throws(Violation) {
    guard ledger.mayBeCorrupt else {
      throw Violation("\(script(of: process).name): corrupt without an attacker: \(reason)")
    }
    fail(process, "corrupt, \(reason)", &run)
  }

  /// Returns the answer of an operation to its caller.
  private mutating func answer(
    _ process: Int, isConfirmation: Bool, _ run: inout Run
  ) throws(Violation) {
    guard let view = processes[process].view else { return end(process) }
    let cells = disk.files[view.journalFile].cached
    let unreadable = life.path(to: view.end).first { standing(of: $0, in: cells) != .whole }
    if let unreadable {
      return try failAsCorrupt(process, "change \(unreadable) does not open", &run)
    }
    let state = states[life.state(at: view.end)]
    let (floor, seen) = (processes[process].task.floor, processes[process].seen)
    note(isConfirmation ? "confirms \(state)" : "reads \(state)", process, &run)
    try ledger.answer(state, floor: floor, seen: seen)
    noteDropped(process)
    if processes[process].task.operation == .repair { ledger.mayBeCorrupt = false }
    processes[process].seen = state
    end(process)
  }

  /// Records the changes that an answer reported as dropped.
  mutating func noteDropped(_ process: Int) {
    for change in processes[process].task.dropped where !ledger.dropped.contains(change) {
      ledger.dropped.append(change)
    }
  }

  func note(_ text: @autoclosure () -> String, _ process: Int, _ run: inout Run) {
    run.note("\(script(of: process).name): \(text())")
  }
}
