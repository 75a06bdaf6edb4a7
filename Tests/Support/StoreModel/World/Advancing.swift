extension World {
  /// An event that may happen next.
  private enum Event {
    case step(process: Int)
    case kill(process: Int)
    case powerCut
    case lostMark
    case eviction
  }

  /// Lets one event happen.
  ///
  /// - Parameter run: The source of the choices.
  /// - Returns: Whether an event was possible.
  /// - Throws: A violation if a promise is broken.
  mutating func advance(_ run: inout Run) throws(Violation) -> Bool {
    let events = self.events
    guard !events.isEmpty else {
      guard processes.indices.allSatisfy({ !hasWork($0) }) else {
        throw Violation("no process can continue")
      }
      return false
    }
    let stepCount = events.count { if case .step = $0 { true } else { false } }
    switch events[run.pick(events.count, mostly: stepCount)] {
    case .step(let process):
      if let current, current != process, isAtWork(current), canStep(current) {
        pausesLeft = pausesLeft.map { $0 - 1 }
      }
      current = process
      try step(process, &run)
      if !hasWork(process) { current = nil }
    case .kill(let process):
      faults.kill -= 1
      kill(process, &run)
    case .powerCut:
      run.note("== power cut")
      disk.stop(scenario.nameOrder, &run)
      lock = StoreLock()
      isReadOnly = false
      lifeNumber += 1
      startLife()
    case .lostMark:
      faults.lostMark -= 1
      run.note("-- the kernel fails to write the mark back")
      guard let file = disk[.mark] else { break }
      disk.files[file].failWritingBack(isWhole: scenario.faults.losesWholeMark, &run)
    case .eviction:
      faults.eviction -= 1
      run.note("-- clean pages are read from the disk again")
      for file in disk.files.indices { disk.files[file].evict() }
    }
    return true
  }

  private var events: [Event] {
    let runnable = processes.indices.filter { hasWork($0) && canStep($0) }
    var events: [Event] = []
    if let current, runnable.contains(current) {
      events.append(.step(process: current))
      // Another process may always follow a process that is not in an operation.
      if pausesLeft != 0 || !isAtWork(current) {
        events += runnable.filter { $0 != current }.map { .step(process: $0) }
      }
    } else {
      events = runnable.map { .step(process: $0) }
    }
    let isAtRest = !processes.indices.contains(where: isAtWork)
    if lifeNumber + 1 < scenario.lives.count, isAtRest || !scenario.faults.cutsOnlyAtRest {
      events.append(.powerCut)
    }
    if faults.kill > 0 {
      events += processes.indices.filter(isAtWork).map { .kill(process: $0) }
    }
    if faults.lostMark > 0, let file = disk[.mark], disk.files[file].isDirty {
      events.append(.lostMark)
    }
    if faults.eviction > 0, disk.files.contains(where: \.hasLost) { events.append(.eviction) }
    return events
  }

  /// Returns whether a process is in the middle of an operation.
  func isAtWork(_ process: Int) -> Bool { !processes[process].steps.isEmpty }

  /// Returns whether a process has remaining operations or steps.
  func hasWork(_ process: Int) -> Bool {
    isAtWork(process)
      || processes[process].begunCount < script(of: process).operations.count
  }

  /// Returns whether the next step of a process does not need to wait.
  private func canStep(_ process: Int) -> Bool {
    guard let step = processes[process].steps.last else {
      let next = script(of: process).operations[processes[process].begunCount]
      return !next.isOutside || lock.isFree
    }
    switch step {
    case .takeLock:
      return lock.canTake(exclusively: canWrite(process))
    case .awaitLockOrMark:
      return lock.canTake(exclusively: canWrite(process)) || isMarkAwaited(by: process)
    default:
      return true
    }
  }

  /// Kills a process with `kill -9`; a write in progress may have written some of its sectors.
  private mutating func kill(_ process: Int, _ run: inout Run) {
    run.note("== kill -9 of \(script(of: process).name)")
    if processes[process].steps.last == .writeChange {
      let count = scenario.shape.reduce(0, +)
      let written = run.pick(count)
      if written > 0 { writeChange(process, partCount: written) }
    }
    lock.release(process)
    processes[process] = Process()
    processes[process].begunCount = script(of: process).operations.count
    current = nil
  }
}

extension Operation {
  /// Whether the operation changes the files without the store.
  ///
  /// Such an operation happens while no process writes: the store does not promise to detect files
  /// that are restored in the middle of a change.
  var isOutside: Bool {
    switch self {
    case .keepCopy, .putBack, .tear, .putChangeBack, .damageRecord, .damageMark: true
    case .read, .put, .compact, .rotate, .revoke, .repair, .close: false
    }
  }
}
