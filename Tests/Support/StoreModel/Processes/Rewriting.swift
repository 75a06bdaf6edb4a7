extension World {
  /// Returns the steps with which a new journal replaces the old one.
  func rewritingSteps(_ process: Int) -> [Step] {
    let rules = scenario.rules
    let operation = processes[process].task.operation
    let changesKey = operation == .rotate || operation == .revoke
    var steps: [Step] = []
    if operation != .repair, rules.writesMarkAgain {
      steps += [.synchronizeDirectoryOnce, .writeMarkAgain]
    }
    if changesKey {
      steps.append(.writeNextHeader)
      if rules.syncsNextHeaderName { steps.append(.synchronizeDirectory) }
    }
    steps.append(.writeNextJournal)
    if rules.syncsNextJournal { steps.append(.synchronizeNextJournal) }
    if operation == .repair {
      steps += predecessorSteps(process)
    } else if rules.syncsMark {
      steps.append(.synchronizeMark)
    }
    steps.append(.renameJournal)
    if rules.syncsRename { steps.append(.synchronizeDirectory) }
    steps.append(.writeMark)
    if changesKey { steps += [.putHeader, .synchronizeDirectory, .removeNextHeader] }
    if operation == .repair, rules.repairWaits { steps.append(.waitForReaders) }
    return steps + [.confirm]
  }

  /// Returns a writer's steps for an unfinished rotation.
  func headerSteps(_ process: Int) -> [Step] {
    guard let view = processes[process].view,
      case .header(let next)? = processes[process].task.headers.last,
      case .header(let current)? = processes[process].task.headers.first
    else { return [] }
    let key = life.journals[view.journal].key
    if headers[current].key == key {
      // The header may just have been put in place, and not be on the disk yet.
      return scenario.rules.removingSyncsDirectory
        ? [.synchronizeDirectory, .removeNextHeader] : [.removeNextHeader]
    }
    guard headers[next].key == key else { return [] }
    let rest: [Step] = [.putHeader, .synchronizeDirectory, .removeNextHeader]
    return scenario.rules.finishingSyncsDirectory ? [.synchronizeDirectory] + rest : rest
  }

  mutating func rewrite(_ step: Step, _ process: Int, _ run: inout Run) {
    guard canWrite(process) else { return fail(process, "read-only", &run) }
    switch step {
    case .writeMarkAgain:
      if let view = processes[process].view {
        putMark(journal: view.journal, end: view.end, process)
      } else {
        // A repair does not know whether the mark is valid for a journal, and keeps it.
        let file = processes[process].task.markFile
        disk.files[file].write([processes[process].task.mark], at: 0)
      }
      note("writes the mark again", process, &run)
    case .writeRandomMark:
      if disk[.mark] == nil { processes[process].task.markFile = disk.create(.mark) }
      putMark(processes[process].task.predecessor ?? 0, process)
      note("puts random bytes in the mark's place", process, &run)
    case .synchronizeMark:
      synchronizeMark(process, &run)
    case .writeNextHeader:
      writeNextHeader(process, &run)
    case .writeNextJournal:
      writeNextJournal(process, &run)
    case .synchronizeNextJournal:
      synchronizeNextJournal(process, &run)
    case .renameJournal:
      renameJournal(process, &run)
    case .putHeader:
      let header = disk.content(.nextHeader)
      let file = disk.create(.header)
      disk.files[file] = ModelFile([header])
      note("puts the header in its place", process, &run)
    case .removeNextHeader:
      disk.remove(.nextHeader)
    case .waitForReaders:
      for other in processes.indices { processes[other].isNameCheckDue = true }
    default:
      break
    }
  }

  private mutating func synchronizeMark(_ process: Int, _ run: inout Run) {
    let file = processes[process].task.markFile
    if faults.markSync > 0, run.flip() {
      faults.markSync -= 1
      disk.files[file].failSynchronizing(&run)
    } else {
      disk.files[file].synchronize()
      guard disk.files[file].reportError() else { return }
    }
    disk.remove(.nextJournal)
    fail(process, "the sync of the mark", &run)
  }

  private mutating func synchronizeNextJournal(_ process: Int, _ run: inout Run) {
    guard let file = disk[.nextJournal] else { return }
    guard faults.nextSync > 0, run.flip() else { return disk.files[file].synchronize() }
    faults.nextSync -= 1
    disk.files[file].failSynchronizing(&run)
    disk.remove(.nextJournal)
    fail(process, "the sync of journal.next", &run)
  }

  private mutating func writeNextHeader(_ process: Int, _ run: inout Run) {
    let slot = script(of: process).slot
    guard case .header(let old) = disk.content(.header) else { return }
    var slots = headers[old].slots
    if processes[process].task.operation == .revoke {
      ledger.revokedSlots += slots.filter { $0 != slot && !ledger.revokedSlots.contains($0) }
      slots = [slot]
    }
    let key = headers.reduce(0) { max($0, $1.key) } + 1
    headers.append(Header(key: key, slots: slots))
    processes[process].task.key = key
    let file = disk.create(.nextHeader)
    disk.files[file].write([.header(headers.count - 1)], at: 0)
    if scenario.rules.syncsNextHeader { disk.files[file].synchronize() }
    note("writes header.next with key \(key)", process, &run)
  }

  /// Writes all items into `journal.next`, as one change.
  private mutating func writeNextJournal(_ process: Int, _ run: inout Run) {
    let task = processes[process].task
    var (items, version, key) = (task.items, task.headVersion, task.key)
    if task.operation != .repair, let view = processes[process].view {
      items = states[life.state(at: view.end)]
      version = self.version(of: view.journal, at: view.end)
      if task.operation == .compact { key = life.journals[view.journal].key }
    }
    var predecessor = task.predecessor
    if task.operation != .repair, case .mark(let mark) = disk.files[task.markFile].content {
      predecessor = mark
    }
    life.journals.append(RecordedLife.Journal(predecessor: predecessor, key: key))
    headVersions.append(version)
    let journal = life.journals.count - 1
    let end = addRewriting(of: items, journal: journal, version: version)
    let file = disk.create(.nextJournal)
    let cells = life.path(to: end).reversed().flatMap { parts(of: $0) }
    disk.files[file].write([.head(journal)] + cells, at: 0)
    note("writes journal \(journal) with \(items)", process, &run)
  }

  private mutating func addRewriting(of items: StoreState, journal: Int, version: Int) -> Int {
    let records = items.map { Layout.Record(partCount: 2, payload: $0) }
    if scenario.rules.rewritesAsOneChange || items.isEmpty {
      return addChange(
        journal: journal, behind: nil, state: items,
        records: records.isEmpty ? [Layout.Record(partCount: 1)] : records, version: version)
    }
    var end: Int?
    for count in items.indices {
      end = addChange(
        journal: journal, behind: end, state: Array(items[...count]), records: [records[count]],
        version: version)
    }
    return end ?? 0
  }

  private mutating func renameJournal(_ process: Int, _ run: inout Run) {
    if faults.rename > 0, run.flip() {
      faults.rename -= 1
      return fail(process, "the rename", &run)
    }
    guard let file = disk[.nextJournal],
      case .head(let journal)? = disk.files[file].cached.first
    else { return }
    disk.rename(.nextJournal, to: .journal)
    let end = life.changes.lastIndex { $0.journal == journal }
    processes[process].view = View(
      journalFile: file, markFile: processes[process].task.markFile, journal: journal, end: end,
      mark: processes[process].task.mark)
    note("renames journal.next, journal \(journal), to journal", process, &run)
  }
}
