extension World {
  /// Plans how a process that holds the lock recovers the changes behind the mark.
  mutating func planRecovery(_ recovery: Recovery, _ process: Int) {
    setView(recovery, end: recovery.end, process)
    guard let view = processes[process].view else { return }
    let rules = scenario.rules
    var steps: [Step] = []
    if let end = recovery.end, end != recovery.marked {
      let cells = disk.files[view.journalFile].cached
      processes[process].task.memory = Array(cells[layouts[end].offset..<layouts[end].end])
      steps += rules.writesAgain ? [.writeAgain, .synchronizeJournal] : [.synchronizeJournal]
    }
    if recovery.drops {
      steps += rules.replacesDropped ? [.cutOff, .writeVoid] : [.cutOff]
      steps.append(.synchronizeJournal)
      processes[process].task.dropped += payloadsLeft(behind: recovery.end, view)
    }
    if recovery.end != recovery.marked || rules.replacesDropped {
      if rules.recoverySyncsDirectory { steps.append(.synchronizeDirectoryOnce) }
      steps.append(.writeMark)
    }
    plan(steps + [.arrive], process)
  }

  /// Returns the items of the changes that exist but do not count.
  private func payloadsLeft(behind end: Int?, _ view: View) -> [Int] {
    let cells = disk.files[view.journalFile].cached
    return life.changes.indices.filter { change in
      life.changes[change].journal == view.journal && !life.isAtOrBefore(change, end)
        && standing(of: change, in: cells) != .absent
    }.flatMap { layouts[$0].records.compactMap(\.payload) }
  }

  mutating func recover(_ step: Step, _ process: Int, _ run: inout Run) {
    guard let view = processes[process].view else { return }
    guard canWrite(process) else { return fail(process, "read-only", &run) }
    let file = view.journalFile
    switch step {
    case .writeAgain:
      guard let end = view.end else { return }
      let (from, to) = (layouts[end].offset, layouts[end].end)
      note("writes change \(end) again", process, &run)
      let cells =
        scenario.rules.writesFromMemory
        ? processes[process].task.memory : Array(disk.files[file].cached[from..<to])
      disk.files[file].write(cells, at: from)
    case .cutOff:
      note("cuts off the bytes behind change \(text(view.end))", process, &run)
      disk.files[file].cut(to: offset(of: view.end))
    case .writeVoid:
      let change = addVoid(behind: view.end, in: view.journal)
      note("writes void change \(change)", process, &run)
      disk.files[file].write(parts(of: change), at: layouts[change].offset)
      processes[process].view?.end = change
    case .writeOwnMark:
      note("writes its own mark again", process, &run)
      putMark(journal: view.journal, end: view.end, process)
    default:
      break
    }
  }

  /// Continues with the operation once the store is open and recovered.
  mutating func arrive(_ process: Int, _ run: inout Run) {
    let operation = processes[process].task.operation
    if operation == .read || operation == .repair { return plan([.answer], process) }
    guard canWrite(process) else { return fail(process, "read-only", &run) }
    let steps = operation == .put ? changeSteps : rewritingSteps(process)
    plan(headerSteps(process) + steps, process)
  }

  func text(_ end: Int?) -> String { end.map { "\($0)" } ?? "none" }
}
