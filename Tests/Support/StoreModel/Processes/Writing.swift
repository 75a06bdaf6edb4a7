extension World {
  /// The steps of a change of a recovered store.
  var changeSteps: [Step] {
    var steps: [Step] = [.writeChange]
    if scenario.rules.syncsJournal { steps.append(.synchronizeJournal) }
    if scenario.rules.syncsDirectoryBeforeMark { steps.append(.synchronizeDirectoryOnce) }
    return steps + [.writeMark, .confirm]
  }

  mutating func write(_ step: Step, _ process: Int, _ run: inout Run) {
    guard canWrite(process) else { return fail(process, "read-only", &run) }
    if step == .synchronizeDirectory || step == .synchronizeDirectoryOnce {
      disk.synchronizeNames()
      processes[process].view?.isNameDurable = true
    }
    guard let view = processes[process].view else { return }
    switch step {
    case .writeChange:
      if faults.noSpace > 0, run.flip() {
        faults.noSpace -= 1
        // All parts except the last may be written before the disk is full.
        writeChange(process, partCount: scenario.shape.reduce(0, +) - 1)
        note("writes change \(text(processes[process].view?.end)), no space", process, &run)
        processes[process].view?.end = view.end
        processes[process].task.dropped.append(payloadCount)
        processes[process].steps = []
        return plan([.cutBack, .synchronizeJournal, .failForSpace], process)
      }
      writeChange(process, partCount: nil)
      note("writes change \(text(processes[process].view?.end))", process, &run)
    case .cutBack:
      disk.files[view.journalFile].cut(to: offset(of: view.end))
    case .failForSpace:
      // The failure is an answer: the change must not return.
      noteDropped(process)
      fail(process, "no space", &run)
    case .synchronizeJournal:
      synchronizeJournal(view, process, &run)
    case .writeMark:
      writeMark(view, process, &run)
    default:
      break
    }
  }

  /// Writes a change at the end, or the part that fits or that a killed process wrote.
  mutating func writeChange(_ process: Int, partCount: Int?) {
    guard let view = processes[process].view else { return }
    let change = addPut(behind: view.end, in: view.journal)
    if let partCount { layouts[change].writtenPartCount = partCount }
    disk.files[view.journalFile].write(parts(of: change), at: layouts[change].offset)
    processes[process].view?.end = change
  }

  private mutating func synchronizeJournal(_ view: View, _ process: Int, _ run: inout Run) {
    guard faults.journalSync > 0, run.flip() else {
      return disk.files[view.journalFile].synchronize()
    }
    faults.journalSync -= 1
    disk.files[view.journalFile].failSynchronizing(&run)
    isReadOnly = scenario.faults.remountsReadOnly
    fail(process, "the sync of the journal", &run)
  }

  private mutating func writeMark(_ view: View, _ process: Int, _ run: inout Run) {
    if faults.markWrite > 0, run.flip() {
      faults.markWrite -= 1
      note("the mark is not written", process, &run)
      if scenario.rules.failsWithMark { fail(process, "outcome unknown", &run) }
      return
    }
    putMark(journal: view.journal, end: view.end, process)
    note("marks change \(text(view.end)) of journal \(view.journal)", process, &run)
  }

  /// Overwrites the mark in place.
  mutating func putMark(journal: Int?, end: Int?, _ process: Int) {
    putMark(markNumber(journal: journal, end: end), process)
  }

  mutating func putMark(_ mark: Int, _ process: Int) {
    newestMark = mark
    let file = processes[process].view?.markFile ?? processes[process].task.markFile
    disk.files[file].write([.mark(mark)], at: 0)
    processes[process].view?.mark = .mark(mark)
  }
}
