extension World {
  /// Plans the repair of a damaged store by a process that holds the lock.
  mutating func planRepair(_ process: Int) {
    let cells = disk[.journal].map { disk.files[$0].cached } ?? []
    var journal = 0
    if case .head(let number)? = cells.first { journal = number }
    let (items, version) = records(in: cells, of: journal, mark: processes[process].task.mark)
    processes[process].task.items = items
    processes[process].task.headVersion = version + 1
    processes[process].task.key = life.journals[journal].key
    processes[process].view = nil
    let mark = processes[process].task.mark
    processes[process].task.predecessor =
      if !isMarkRight(mark), scenario.rules.repairMakesMark {
        markNumber(journal: nil, end: nil)
      } else if case .mark(let number) = mark {
        number
      } else {
        nil
      }
    plan([.synchronizeDirectory] + rewritingSteps(process), process)
  }

  /// Returns the steps that make the new journal's predecessor durable, once that journal is.
  func predecessorSteps(_ process: Int) -> [Step] {
    let rules = scenario.rules
    if isMarkRight(processes[process].task.mark) {
      return rules.repairSyncsMark ? [.writeMarkAgain, .synchronizeMark] : []
    }
    return rules.repairMakesMark
      ? [.writeRandomMark, .synchronizeMark, .synchronizeDirectory] : []
  }

  /// Returns whether a mark is valid by itself, independent of the journal.
  private func isMarkRight(_ mark: Cell) -> Bool {
    guard case .mark(let number) = mark else { return false }
    return life.marks[number].journal != nil
  }

  /// Finds every record that opens, wherever it is, and the highest version.
  private func records(
    in cells: [Cell], of journal: Int, mark: Cell
  ) -> (items: StoreState, version: Int) {
    var marked: Int?
    if case .mark(let number) = mark, life.marks[number].journal == journal {
      marked = life.marks[number].end
    }
    var items: StoreState = []
    var version = headVersions[journal]
    for change in life.changes.indices where life.changes[change].journal == journal {
      let layout = layouts[change]
      guard standing(of: change, in: cells) != .absent else { continue }
      // A change without its end was never confirmed, except if the journal cannot exist without
      // it.
      let isFirst =
        life.changes[change].previous == nil && life.journals[journal].predecessor != nil
      let isMarked = marked.map { life.isAtOrBefore(change, $0) } ?? false
      let isThere = { (place: Int) in
        place < cells.count && cells[place] == .part(change, place - layout.offset)
      }
      let hasEnd = isThere(layout.end - 1)
      guard isFirst || isMarked || hasEnd else { continue }
      version = max(version, layout.version)
      var place = layout.offset
      for record in layout.records {
        let isWhole = (place..<place + record.partCount).allSatisfy(isThere)
        if isWhole, let item = record.payload, !items.contains(item) { items.append(item) }
        place += record.partCount
      }
    }
    return (items, version)
  }
}
