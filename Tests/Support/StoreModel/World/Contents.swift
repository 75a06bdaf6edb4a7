extension World {
  /// Returns the number of a state, and adds the state if it is new.
  mutating func stateNumber(_ state: StoreState) -> Int {
    if let number = states.firstIndex(of: state) { return number }
    states.append(state)
    return states.count - 1
  }

  /// Returns the number of the mark for a place in a journal; equal marks are equal bytes.
  mutating func markNumber(journal: Int?, end: Int?) -> Int {
    let mark = RecordedLife.Mark(journal: journal, end: end)
    if journal != nil, let number = life.marks.firstIndex(of: mark) { return number }
    life.marks.append(mark)
    return life.marks.count - 1
  }

  /// Adds a change before any part of it is written.
  mutating func addChange(
    journal: Int, behind previous: Int?, state: StoreState, records: [Layout.Record],
    version: Int
  ) -> Int {
    let number = stateNumber(state)
    life.changes.append(
      RecordedLife.Change(journal: journal, previous: previous, state: number))
    // The head is the first cell.
    let offset = previous.map { layouts[$0].end } ?? 1
    var layout = Layout(offset: offset, records: records, version: version, writtenPartCount: 0)
    layout.writtenPartCount = layout.partCount
    layouts.append(layout)
    return life.changes.count - 1
  }

  /// Adds a change that puts a new item.
  mutating func addPut(behind previous: Int?, in journal: Int) -> Int {
    payloadCount += 1
    let records = scenario.shape.map {
      Layout.Record(partCount: $0, payload: payloadCount)
    }
    return addChange(
      journal: journal, behind: previous,
      state: states[life.state(at: previous)] + [payloadCount], records: records,
      version: version(of: journal, at: previous) + 1)
  }

  /// Adds the void change that replaces a dropped change; it is shorter than the dropped change.
  mutating func addVoid(behind previous: Int?, in journal: Int) -> Int {
    addChange(
      journal: journal, behind: previous, state: states[life.state(at: previous)],
      records: [Layout.Record(partCount: 1)], version: version(of: journal, at: previous) + 1)
  }

  /// Returns the version of the store at a place in a journal.
  func version(of journal: Int, at end: Int?) -> Int {
    end.map { layouts[$0].version } ?? headVersions[journal]
  }

  /// Returns the cells of a change that were ever written.
  func parts(of change: Int) -> [Cell] {
    (0..<layouts[change].writtenPartCount).map { .part(change, $0) }
  }

  /// Returns the cell at which a place in a journal ends.
  func offset(of end: Int?) -> Int { end.map { layouts[$0].end } ?? 1 }
}

extension World {
  /// Converts the files, as a program with the key of a slot finds them, to the oracle's terms.
  ///
  /// - Parameters:
  ///   - journal: The cells of the file `journal`; `nil` if it does not exist.
  ///   - mark: The content of the file `mark`.
  ///   - headers: The contents of `header` and `header.next`.
  ///   - slot: The slot that the key opens.
  /// - Returns: The found store.
  func found(
    journal: [Cell]?, mark: Cell, headers: [Cell], slot: Int
  ) -> FoundStore {
    var number: Int?
    if case .head(let journal)? = journal?.first { number = journal }
    var found = FoundStore(
      journal: number, mark: nil, header: header(headers[0], slot),
      standings: life.changes.indices.map { change in
        life.changes[change].journal == number
          ? standing(of: change, in: journal ?? []) : .absent
      })
    if case .mark(let mark) = mark { found.mark = mark }
    found.nextHeader = header(headers[1], slot)
    return found
  }

  private func header(_ cell: Cell, _ slot: Int) -> FoundStore.Header {
    guard case .header(let number) = cell else { return .missing }
    return headers[number].slots.contains(slot) ? .opens(key: headers[number].key) : .closed
  }

  /// Returns the part of a change that is in some cells.
  func standing(of change: Int, in cells: [Cell]) -> FoundStore.Standing {
    let layout = layouts[change]
    let isThere = (0..<layout.partCount).map { part in
      let place = layout.offset + part
      return place < cells.count && cells[place] == .part(change, part)
    }
    guard isThere.contains(true) else { return .absent }
    if !isThere.contains(false) { return .whole }
    var start = 0
    var isChained = true
    for record in layout.records {
      // The chain covers the beginning and the end of a record.
      if !isThere[start] || !isThere[start + record.partCount - 1] { isChained = false }
      start += record.partCount
    }
    let opens = !isThere[..<layout.records[0].partCount].contains(false)
    return isChained ? .tornInside(firstRecordOpens: opens) : .torn(firstRecordOpens: opens)
  }
}
